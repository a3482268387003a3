#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Starts four ranks with a launcher: launchers.sh openmpi|mpich|slurm PROGRAM DOCS/ranks.md
# They have to agree on a verdict, and to end where one of them is killed. Slurm runs the script of the documents on
# two nodes. Exit code 77: the launcher cannot be used here, with the reason.
#
# All of it is in namespaces of its own, so that no port is taken, and no process outlives this script.
set -u
launcher=$1 program=$2 docs=$3

skip() {
  echo "skipped: $1"
  exit 77
}
require() {
  for each in "$@"; do command -v "$each" > /dev/null || skip "no $each"; done
}

case $launcher in
openmpi) require mpirun && mpirun --version | grep -q 'Open MPI' || skip "mpirun is not that of Open MPI" ;;
mpich) require mpiexec.hydra ;;
slurm) require sbatch srun scontrol sinfo slurmctld slurmd munged ;;
*) exit 2 ;;
esac
if [ $# = 3 ]; then
  require unshare ip mount hostname
  set -- sh "$0" "$@" inside
  user='--user --map-root-user'
  [ "$(id -u)" != 0 ] || user=
  unshare $user --net --mount --uts --pid true || skip "no namespaces"
  # The first process of a namespace takes the ends of daemons' children.
  exec unshare $user --net --mount --uts --pid --fork --kill-child --mount-proc sh -c '"$@" & wait $!' - "$@"
fi
# Launchers look for a wire beyond loopback, though nothing else is on it.
ip link set lo up
ip link add wire type veth peer name other && ip link set other up && ip link set wire up &&
  ip address add 10.52.0.1/24 dev wire || skip "no virtual wires"
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
printf '127.0.0.1 localhost\n10.52.0.1 n1 n2\n' > "$here/hosts"
mount --bind "$here/hosts" /etc/hosts
hostname n1
[ "$launcher" = slurm ] || export ASSAY_RENDEZVOUS=n1:29400

# What a launcher prints for `PROGRAM`, or for `PROGRAM die`.
case $launcher in
openmpi)
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  launch() { mpirun --oversubscribe -n 4 -x ASSAY_RENDEZVOUS "$@"; }
  ;;
mpich)
  launch() { mpiexec.hydra -n 4 "$@"; }
  ;;
slurm)
  head -c 1024 /dev/urandom > "$here/key"
  chmod 400 "$here/key"
  munged --force --key-file="$here/key" --socket="$here/munge" --pid-file="$here/munged.pid" \
    --log-file="$here/munged.log" --seed-file="$here/seed" || skip "munged does not start"
  export SLURM_CONF="$here/slurm.conf"
  cat > "$SLURM_CONF" << END
ClusterName=test
SlurmctldHost=n1
AuthType=auth/munge
AuthInfo=socket=$here/munge
SlurmUser=root
StateSaveLocation=$here/state
SlurmdSpoolDir=$here/spool.%n
SlurmctldPidFile=$here/slurmctld.pid
SlurmdPidFile=$here/%n.pid
SlurmctldLogFile=$here/slurmctld.log
SlurmdLogFile=$here/%n.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
NodeName=n1 Port=16818 CPUs=2
NodeName=n2 Port=16819 CPUs=2
PartitionName=all Nodes=ALL Default=YES
END
  mkdir "$here/state" "$here/spool.n1" "$here/spool.n2"
  slurmctld || skip "slurmctld does not start"
  slurmd -N n1 && unshare --uts sh -c 'hostname n2 && slurmd -N n2' || skip "slurmd does not start"
  waited=0
  until [ "$(timeout 2 sinfo -h -N -o %t 2> /dev/null | grep -c idle)" = 2 ]; do
    [ $((waited += 1)) -lt 30 ] || skip "the nodes of Slurm do not come: $(tail -n 3 "$here"/*.log)"
    sleep 0.5
  done
  launch() {
    sed -n '/^#SBATCH --nodes=2/,/^srun/p' "$docs" |
      sed -e '1i #!/bin/sh' -e '/gpus-per-node/d' -e 's/per-node=8/per-node=2/' -e "s|\./nccl_ranks|$*|" > "$here/script"
    sbatch --wait --chdir="$here" --output="$here/output" "$here/script"
    code=$?
    cat "$here/output"
    return "$code"
  }
  ;;
esac

local='0 1 2 3'
[ "$launcher" != slurm ] || local='0 1 0 1'
said=$(launch "$program" 2>&1)
code=$?
echo "$said"
echo "$said" | grep -qx "4 ranks, local $local, one verdict" && [ "$code" = 0 ] || exit 1
said=$(launch "$program" die 2>&1)
code=$?
echo "$said"
[ "$code" != 0 ] || exit 1
# Slurm lets the other ranks tell it; the others kill them.
[ "$launcher" != slurm ] || echo "$said" | grep -q 'rank 1 has ended, or its connection'
