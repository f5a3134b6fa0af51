#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Installs the Debian packages that building and checking Rondo needs and that are not there yet.
# Silent when there is nothing to do. Asks nothing; without the right to install it names the
# packages and stops.
set -eu

# What the library, its tests and its checks are built with.
packages="gcc g++ libc6-dev cmake ninja-build pkg-config
liburcu-dev libhwloc-dev libjansson-dev libcriterion-dev libpng-dev
clang clang-format llvm libclang-rt-dev libomp-dev"
# OpenCL's headers, and a driver whose device is the CPU.
packages="$packages opencl-c-headers ocl-icd-libopencl1 pocl-opencl-icd"
# What examples compute with.
packages="$packages libopenblas-dev liblapacke-dev libsuitesparse-dev"
# What rondo-bench compares with, and counts system calls with.
packages="$packages libtbb-dev libopenmpi-dev openmpi-bin strace"

if ! command -v dpkg-query >/dev/null 2>&1; then
    echo "setup.sh: this is no Debian system. Install what these packages contain:" >&2
    echo "$packages" >&2
    exit 1
fi

# shellcheck disable=SC2086 # words are wanted
installed=$(dpkg-query -W -f '${Package}=${db:Status-Status} ' $packages 2>/dev/null || true)
missing=
for package in $packages; do
    case " $installed" in
    *" $package=installed "*) ;;
    *) missing="$missing $package" ;;
    esac
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" -eq 0 ]; then
    as_root="env DEBIAN_FRONTEND=noninteractive"
elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
    as_root="sudo -n env DEBIAN_FRONTEND=noninteractive"
else
    echo "setup.sh: these Debian packages are missing and this user may not install them:" >&2
    echo "   $missing" >&2
    echo "As root: apt-get install$missing" >&2
    exit 1
fi

echo "setup.sh: installing$missing"
install() {
    # shellcheck disable=SC2086 # words are wanted
    $as_root apt-get -q -y --no-install-recommends install $missing </dev/null
}
# The package lists may be absent or old; they are fetched only if installing fails without.
install || { $as_root apt-get -q update </dev/null && install; } || {
    echo "setup.sh: apt-get could not install:$missing" >&2
    exit 1
}
