"""Errors that docs/commands.md and docs/server_commands.md list and no example there shows, with commands that return
them.

A row is the beginning of the error, then commands for an empty server, of which the last one returns it.
"""

LONG_PATTERN = "p" * 5000
LONG_CHANNEL = "c" * 17000
LONG_NAME = "n" * 1025
NO_MEMORY = "CONFIG SET maxmemory 64kb"
LARGE = "CONFIG SET cf-initial-size 1000000"
ONE_TABLE = "CONFIG SET cf-max-expansions 1"
NOT_GROWING = "CF.RESERVE k 4 EXPANSION 0"
REDISBLOOM_HEADER = bytes.fromhex("0100000000000000010000000500000002000000080000000000000040000000"
                                  "0000000001000000000000009a9999999999a93f4af7d49edef0184005000000"
                                  "0a0000000000000000")
REDISBLOOM_LOAD = 'BF.LOADCHUNK k 1 "' + "".join(f"\\x{byte:02x}" for byte in REDISBLOOM_HEADER) + '"'
# The first fields of a filter of valkey-bloom, with the last bytes of its error rate and of its tightening ratio.
VALKEY_HEADER = (r'"\x01\x02\x00\x00\x00' + r"\x00" * 6 + r"\xe0\x%02x" + r"\x00" * 6 + r"\xe0\x%02x" +
                 r'\x00\x01\x00\x00\x00\x00\x00\x00\x00"')
ONE_ITEM_TABLE = "BF.RESERVE k 1e-9 1 TIGHTENING 1e-300 EXPANSION 1 TYPE classic"

# Undoes the CONFIG SET of the rows.
DEFAULTS = ("CONFIG", "SET", "maxmemory", "0", "cf-initial-size", "1024", "cf-max-expansions", "32")

ERRORS = (
    ("ERR problem inserting into filter", ONE_ITEM_TABLE, "BF.MADD k a b", "BF.ADD k c"),
    ("ERR window is full", "BF.RESERVE k 0.01 1 TYPE window WINDOW 24h", f"BF.MADD k {' '.join(map(str, range(99)))}",
     "BF.ADD k new"),
    ("Bad error rate", "BF.INSERT k ERROR 3 ITEMS a"),
    ("Bad expansion", "BF.INSERT k EXPANSION many ITEMS a"),
    ("ERR provided VALIDATESCALETO causes false positive to degrade to 0",
     "BF.INSERT k TYPE valkeybloom ERROR 1e-300 TIGHTENING 1e-9 VALIDATESCALETO 1000"),
    ("ERR cannot use NONSCALING and VALIDATESCALETO options together",
     "BF.INSERT k TYPE valkeybloom NONSCALING VALIDATESCALETO 1000"),
    ("ERR error rate must be in the range", f"BF.LOAD k {VALKEY_HEADER % (0xff, 0x3f)}"),
    ("ERR tightening ratio must be in the range", f"BF.LOAD k {VALKEY_HEADER % (0x3f, 0xff)}"),
    ("ERR received bad data", "BF.LOADCHUNK k 1 x"),
    ("ERR invalid offset - no link found", REDISBLOOM_LOAD, "BF.LOADCHUNK k 100 12345678"),
    ("ERR invalid chunk - Too big for current filter", REDISBLOOM_LOAD, "BF.LOADCHUNK k 10 12345678"),
    ("ERR bad error rate", "BF.RESERVE k low 10"),
    ("ERR error rate must be in the range", "BF.RESERVE k 2 10"),
    ("ERR bad capacity", "BF.RESERVE k 0.01 many"),
    ("ERR bad expansion", "BF.RESERVE k 0.01 10 EXPANSION many"),
    ("ERR expansion must be in the range", "BF.RESERVE k 0.01 10 EXPANSION 32769"),
    ("Nonscaling filters cannot expand", "BF.RESERVE k 0.01 10 EXPANSION 2 NONSCALING"),
    ("ERR no expansion", "BF.RESERVE k 0.01 10 EXPANSION"),
    ("ERR the error rate of a rediscuckoo filter cannot be chosen", "BF.RESERVE k 0.01 10 TYPE rediscuckoo"),
    ("ERR bad seed", "BF.RESERVE k 0.01 10 SEED x"),
    ("ERR bad tightening ratio", "BF.RESERVE k 0.01 10 TIGHTENING 1"),
    ("ERR bad window", "BF.RESERVE k 0.01 10 TYPE window WINDOW 1ms"),
    ("ERR a window filter needs WINDOW", "BF.RESERVE k 0.01 10 TYPE window"),
    ("ERR bad time to live", "BF.RESERVE k 0.01 10 TYPE expiring TTL 1ms"),
    ("ERR an expiring filter needs TTL", "BF.RESERVE k 0.01 10 TYPE expiring"),
    ("ERR bad epoch bits", "BF.RESERVE k 0.01 10 TYPE expiring TTL 1h EPOCHBITS 5"),
    ("ERR bad renew", "BF.RESERVE k 0.01 10 TYPE expiring TTL 1h RENEW 1"),
    ("ERR bad time of items", "BF.INSERT k TYPE expiring TTL 1h EX 0 ITEMS a"),
    ("ERR bad counter bits", "BF.RESERVE k 0.01 10 TYPE counting COUNTERBITS 5"),
    ("ERR bad bucket size", "BF.RESERVE k 0.01 10 TYPE cuckoo BUCKETSIZE 9"),
    ("ERR bad max iterations", "BF.RESERVE k 0.01 10 TYPE cuckoo MAXITERATIONS 0"),
    ("ERR unknown hash", "BF.RESERVE k 0.01 10 HASH md5"),
    ("ERR could not create filter: ", "BF.RESERVE k 1e-9 1000 TYPE cuckoo BUCKETSIZE 8"),
    ("Maximum expansions reached", "CF.ADD k a", ONE_TABLE, "CF.ADD k b"),
    ("ERR Insufficient memory", LARGE, NO_MEMORY, "CF.ADD k a"),
    ("Filter is full", NOT_GROWING, "CF.INSERT k ITEMS a a a a", "CF.ADDNX k b", "CF.ADDNX k c", "CF.ADDNX k d",
     "CF.ADDNX k e"),
    ("Maximum expansions reached", "CF.ADD k a", ONE_TABLE, "CF.ADDNX k a"),
    ("ERR Insufficient memory", LARGE, NO_MEMORY, "CF.ADDNX k a"),
    ("WRONGTYPE", "BF.ADD k a", "CF.DEBUG k"),
    ("Bad capacity", "CF.INSERT k CAPACITY many ITEMS a"),
    ("Maximum expansions reached", "CF.ADD k a", ONE_TABLE, "CF.INSERT k ITEMS a"),
    ("ERR Insufficient memory to create filter", NO_MEMORY, "CF.INSERT k CAPACITY 1000000 ITEMS a"),
    ("WRONGTYPE", "BF.ADD k a", "CF.INSERT k ITEMS a"),
    ("Bad capacity", "CF.INSERTNX k CAPACITY many ITEMS a"),
    ("Capacity must be in the range", "CF.INSERTNX k CAPACITY 1 ITEMS a"),
    ("Unknown argument received", "CF.INSERTNX k SIZE 1 ITEMS a"),
    ("Maximum expansions reached", "CF.ADD k a", ONE_TABLE, "CF.INSERTNX k ITEMS a"),
    ("ERR Insufficient memory to create filter", NO_MEMORY, "CF.INSERTNX k CAPACITY 1000000 ITEMS a"),
    ("WRONGTYPE", "BF.ADD k a", "CF.INSERTNX k ITEMS a"),
    ("Couldn't create filter!", f"CF.LOADCHUNK k 1 {'x' * 38}"),
    ("Couldn't load chunk!", "CF.ADD k a", "CF.LOADCHUNK k 2 x"),
    ("WRONGTYPE", "BF.ADD k a", "CF.LOADCHUNK k 1 x"),
    ("Couldn't parse BUCKETSIZE", "CF.RESERVE k 10 BUCKETSIZE x"),
    ("MAXITERATIONS: value must be in the range", "CF.RESERVE k 10 MAXITERATIONS 0"),
    ("EXPANSION: value must be in the range", "CF.RESERVE k 10 EXPANSION 32769"),
    ("ERR Insufficient memory to create filter", NO_MEMORY, "CF.RESERVE k 1000000"),
    ("WRONGTYPE", "BF.ADD k a", "CF.SCANDUMP k 0"),
    ("ERR value is not an integer or out of range", "COPY k l DB x"),
    ("ERR syntax error", "COPY k l MOVE"),
    ("ERR invalid expire time in", "BF.ADD k a", "EXPIRE k 9223372036854775807"),
    ("ERR Unsupported option", "EXPIRE k 1 EQ"),
    ("ERR GT and LT options at the same time are not compatible", "EXPIRE k 1 GT LT"),
    ("ERR a pattern of", f"KEYS {LONG_PATTERN}"),
    ("ERR value is not an integer or out of range", "RESTORE k soon x"),
    ("ERR Invalid IDLETIME value, must be >= 0", "RESTORE k 0 x IDLETIME -1"),
    ("ERR Invalid FREQ value, must be >= 0 and <= 255", "RESTORE k 0 x FREQ 256"),
    ("ERR syntax error", "RESTORE k 0 x MOVE"),
    ("ERR a pattern of", f"SCAN 0 MATCH {LONG_PATTERN}"),
    ("ERR value is not an integer or out of range", "WAITAOF x 0 0"),
    ("ERR timeout is not an integer or out of range", "WAITAOF 0 0 x"),
    ("ERR Client names cannot be longer than 1024 bytes.", f"CLIENT SETNAME {LONG_NAME}"),
    ("ERR Client names cannot be longer than 1024 bytes.", f"CLIENT SETINFO LIB-NAME {LONG_NAME}"),
    ("ERR Unknown client type", "CLIENT LIST TYPE other"),
    ("ERR Invalid client ID", "CLIENT LIST ID x"),
    ("ERR syntax error", "CLIENT LIST NAME x"),
    ("ERR maxage is not an integer or out of range", "CLIENT KILL MAXAGE 0"),
    ("ERR syntax error", "CLIENT KILL NAME x"),
    ("ERR syntax error", "CLIENT TRACKING MAYBE"),
    ("ERR Protocol version is not an integer or out of range", "HELLO x"),
    ("ERR Client names cannot contain spaces, newlines or special characters.", "HELLO 2 SETNAME 'a b'"),
    ("ERR a pattern of", f"PSUBSCRIBE {LONG_PATTERN}"),
    ("ERR a channel of", f"PUBLISH {LONG_CHANNEL} x"),
    ("ERR a pattern of", f"PUBSUB CHANNELS {LONG_PATTERN}"),
    ("ERR a channel of", f"SUBSCRIBE {LONG_CHANNEL}"),
    ("ERR wrong number of arguments", "ACL DRYRUN default BF.ADD"),
    ("ERR syntax error", "BGSAVE NOW"),
)
