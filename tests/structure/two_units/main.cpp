// SPDX-License-Identifier: Apache-2.0
/// @file
/// The program that the units are linked into.
int main() {}
