#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds assay's programs with every compiler and toolkit that is here:  sh cmake/matrix.sh --help
exec python3 "$(dirname "$0")/matrix.py" "$@"
