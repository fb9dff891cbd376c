# SPDX-License-Identifier: GPL-2.0
"""Extract a kernel's BTF, so that BPF objects for it can be built without booting it."""

import lzma
import struct
from pathlib import Path

from .util import VmError

_ELF_MAGIC = b"\x7fELF"
_XZ_MAGIC = b"\xfd7zXZ\x00"
_BTF_MAGIC = b"\x9f\xeb"

# Offsets in the boot header, Documentation/arch/x86/boot.rst.
_SETUP_SECTS = 0x1F1
_PAYLOAD = 0x248


def decompress_image(image: bytes) -> bytes:
    """The ELF file inside of a bzImage. Only xz: newer packages ship the ELF file itself."""
    setup_bytes = ((image[_SETUP_SECTS] or 4) + 1) * 512
    offset, length = struct.unpack_from("<II", image, _PAYLOAD)
    payload = image[setup_bytes + offset :][:length]
    if not payload.startswith(_XZ_MAGIC):
        raise VmError("the kernel image is not compressed with xz, and no vmlinux came with it")
    # The size of the kernel follows the stream: lzma.decompress() would stumble over it.
    return lzma.LZMADecompressor().decompress(payload)


def elf_section(elf: bytes, wanted: bytes) -> bytes:
    """One section of a 64-bit little-endian ELF file."""
    if not elf.startswith(_ELF_MAGIC):
        raise VmError("not an ELF file")
    (table,) = struct.unpack_from("<Q", elf, 0x28)
    entry_size, count, names_index = struct.unpack_from("<HHH", elf, 0x3A)
    sections = []
    for i in range(count):
        fields = struct.unpack_from("<IIQQQQ", elf, table + i * entry_size)
        sections.append((fields[0], fields[4], fields[5]))
    names_at = sections[names_index][1]
    for name_offset, start, size in sections:
        end = elf.index(b"\0", names_at + name_offset)
        if elf[names_at + name_offset : end] == wanted:
            return elf[start : start + size]
    raise VmError(f"the kernel has no section {wanted.decode()}")


def extract_btf(image: Path, vmlinux: Path | None, target: Path) -> None:
    """Write the BTF of the kernel to target: from vmlinux where shipped, else from the image."""
    if vmlinux is not None:
        elf = vmlinux.read_bytes()
    else:
        elf = decompress_image(image.read_bytes())
    btf = elf_section(elf, b".BTF")
    if not btf.startswith(_BTF_MAGIC):
        raise VmError(f"what {vmlinux or image} calls BTF is not BTF")
    target.write_bytes(btf)
