"""Makes stand-ins for the CUDA libraries that PyTorch's wheel links to, so that its CPU kernels load without them.

`cuda_standins.py TORCH_LIB_FOLDER`. PyPI's PyTorch for x86-64 names some 3 GB of CUDA libraries as dependencies. Its CPU path
calls none of their functions, but the loader wants every library and symbol. Each stand-in defines the symbols that
PyTorch imports, under the versions that it asks for. Functions report an error (100, `cudaErrorNoDevice`), so that PyTorch
sees no GPU; those that register kernels while the library loads (`__cuda…`) return null. A library that is installed
for real is left alone. Needs `cc`, `nm` and `readelf`.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

VENDOR = re.compile(r"lib(cu|nccl|nvrtc|nvshmem)")
SYMBOL = re.compile(r"(__)?cu[A-Z_a-z]|nccl|nvrtc|nvshmem")


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def imports(libraries):
    """The vendor's sonames that the libraries need, each with its symbols by version; "" is no version."""
    wanted, home, undefined = {}, {}, set()
    for library in libraries:
        text = output("readelf", "--dynamic", "--version-info", "--wide", library)
        for soname in re.findall(r"NEEDED.*\[([^\]]*)\]", text):
            if VENDOR.match(soname):
                wanted.setdefault(soname, {})
        soname = ""
        for file, version in re.findall(r"File: (\S+)|Name: (\S+)", text):
            soname = file or soname
            if version and VENDOR.match(soname):
                home[version] = soname
                wanted.setdefault(soname, {}).setdefault(version, set())
        undefined |= {line.split()[-1] for line in output("nm", "--dynamic", "--undefined-only", library).splitlines()}
    # A symbol without a version may come from any library without versions: each of them defines it.
    unversioned = [versions for versions in wanted.values() if not versions]
    for symbol in undefined:
        name, _, version = symbol.partition("@")
        if version in home:
            wanted[home[version]][version].add(name)
        elif not version and SYMBOL.match(name):
            for versions in unversioned:
                versions.setdefault("", set()).add(name)
    return wanted


def build(folder, soname, versions):
    """Compiles the stand-in of one library."""
    names = sorted(set().union(*versions.values()))
    code = "".join(f"long {n}(void) {{ return {0 if n.startswith('__') else 100}; }}\n" for n in names)
    script = "".join(
        f"{version} {{ global: {' '.join(f'{n};' for n in sorted(names))} }};\n"
        for version, names in versions.items()
        if version
    )
    with tempfile.TemporaryDirectory() as scratch:
        source, map_file = pathlib.Path(scratch, "standin.c"), pathlib.Path(scratch, "versions.map")
        source.write_text(code)
        map_file.write_text(script)
        flags = [f"-Wl,--version-script={map_file}"] if script else []
        command = ["cc", "-w", "-O1", "-fno-builtin", "-shared", "-fPIC", f"-Wl,-soname,{soname}", *flags]
        subprocess.run([*command, "-o", folder / soname, source], check=True)


def main():
    folder = pathlib.Path(sys.argv[1])
    libraries = sorted(p for p in folder.glob("lib*.so*") if not VENDOR.match(p.name))
    installed = {p.name for p in folder.parent.parent.glob("nvidia/**/lib/*.so*")}
    for soname, versions in imports(libraries).items():
        if soname not in installed:
            build(folder, soname, versions)
            print(f"stand-in for {soname}: {sum(map(len, versions.values()))} symbols")


if __name__ == "__main__":
    main()
