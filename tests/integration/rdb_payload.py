"""Payloads of DUMP with a module's value, taken apart and put together: type, encoding version and fields."""

import struct

MODULE_2 = 7  # the RDB type of a module's value
UNSIGNED, DOUBLE, STRING, END = 2, 4, 5, 0  # opcodes of its fields
NAME_CHARACTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"


def make_crc_table():
    table = []
    for byte in range(256):
        crc = byte
        for _ in range(8):
            crc = (crc >> 1) ^ 0x95AC9329AC4BC9B5 if crc & 1 else crc >> 1
        table.append(crc)
    return table


CRC_TABLE = make_crc_table()


def crc64(data):
    """The checksum of RDB files: CRC-64 of Jones, reflected."""
    crc = 0
    for byte in data:
        crc = CRC_TABLE[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    return crc


def length(number):
    if number < 64:
        return bytes([number])
    if number < 16384:
        return bytes([0x40 | number >> 8, number & 0xFF])
    if number < 2**32:
        return b"\x80" + struct.pack(">I", number)
    return b"\x81" + struct.pack(">Q", number)


def module_id(name, version):
    number = 0
    for character in name:
        number = number << 6 | NAME_CHARACTERS.index(character)
    return number << 10 | version


def value(name, version, fields):
    """`fields`: numbers, floats and bytes, in order."""
    body = length(module_id(name, version))
    for field in fields:
        if isinstance(field, float):
            body += length(DOUBLE) + struct.pack("<d", field)
        elif isinstance(field, int):
            body += length(UNSIGNED) + length(field)
        else:
            body += length(STRING) + length(len(field)) + field
    return body + length(END)


def payload(*of_value, rdb_version=10):
    """As DUMP returns it."""
    body = bytes([MODULE_2]) + value(*of_value) + struct.pack("<H", rdb_version)
    return body + struct.pack("<Q", crc64(body))


def rdb_file(key, *of_value):
    """One key, and no checksum."""
    name = key.encode()
    return (b"REDIS0010" + b"\xfe\x00" + bytes([MODULE_2]) + length(len(name)) + name + value(*of_value) + b"\xff" +
            bytes(8))


class Reader:
    def __init__(self, data):
        self.data = data
        self.position = 0

    def take(self, count):
        self.position += count
        return self.data[self.position - count:self.position]

    def length(self):
        """The number, and whether it is how a string is encoded instead."""
        first = self.take(1)[0]
        if first >> 6 == 0:
            return first & 63, False
        if first >> 6 == 1:
            return (first & 63) << 8 | self.take(1)[0], False
        if first == 0x80:
            return struct.unpack(">I", self.take(4))[0], False
        if first == 0x81:
            return struct.unpack(">Q", self.take(8))[0], False
        return first & 63, True

    def string(self):
        number, encoded = self.length()
        if not encoded:
            return self.take(number)
        if number < 3:
            return str(int.from_bytes(self.take(1 << number), "little", signed=True)).encode()
        packed, _ = self.length()
        self.length()
        return unpack_lzf(self.take(packed))


def unpack_lzf(data):
    out = bytearray()
    reader = Reader(data)
    while reader.position < len(data):
        control = reader.take(1)[0]
        if control < 32:
            out += reader.take(control + 1)
            continue
        count = control >> 5
        if count == 7:
            count += reader.take(1)[0]
        start = len(out) - ((control & 31) << 8 | reader.take(1)[0]) - 1
        for offset in range(count + 2):
            out.append(out[start + offset])
    return bytes(out)


def fields(data):
    """Encoding version and fields of a payload."""
    reader = Reader(data)
    assert reader.take(1)[0] == MODULE_2
    version = reader.length()[0] & 1023
    found = []
    while (opcode := reader.length()[0]) != END:
        if opcode == UNSIGNED:
            found.append(reader.length()[0])
        elif opcode == DOUBLE:
            found.append(struct.unpack("<d", reader.take(8))[0])
        else:
            found.append(reader.string())
    return version, found
