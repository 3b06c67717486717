"""For each known difference commands with two replies that are this difference, and last one that is none.

An example is a command, the replies by role, and what else is known: the type of the key, and whether it is loading.
"""

from excuses import ARITY, OK
from subjects import MODULE, REDISBLOOM, SERVER, VALKEY_BLOOM

YES, NO, WRONG_TYPE = b":1\r\n", b":0\r\n", b"-WRONGTYPE Operation against a key holding the wrong kind of value\r\n"
BAD_DATA, REFUSED, ITEM_EXISTS = b"-ERR received bad data\r\n", b"-Couldn't load chunk!\r\n", b"-ERR item exists\r\n"
BAD_HEADER = b"-ERR received bad data: RedisBloom header: it is too short\r\n"
TOO_MANY, UNKNOWN = ARITY + b" for 'bf.reserve' command\r\n", b"-Unknown argument received\r\n"
BOUNDS = b"-BUCKETSIZE: value must be in the range [1, %d]\r\n"
INFO = b"*10\r\n+Capacity\r\n:100\r\n+Size\r\n:%d\r\n+Number of filters\r\n:%d\r\n"
COUNTS = b"$18\r\nitems:21 deletes:%d\r\n"
CUCKOO, LOADING = {"type": b"MBbloomCF"}, {"loading": True}
HASHES = [bytes([number]) * 16 for number in range(3)]


def ours(bitsieve, theirs, role=REDISBLOOM):
    return {role: theirs, SERVER: bitsieve}


def changes(*hashes, more=0):
    run = b"\x01%c\0" % len(hashes) + b"".join(hashes) if hashes else b""
    return b"*3\r\n$1\r\np\r\n$%d\r\n%s\r\n:%d\r\n" % (len(run), run, more)


def error(text):
    return b"-" + text.encode() + b"\r\n"


def valkey(command, theirs, bitsieve, other):
    """A difference in the text of an error; `other` is a reply of Bitsieve that is none."""
    return ((command, ours(error(bitsieve), error(theirs), VALKEY_BLOOM)),
            (command, ours(other, error(theirs), VALKEY_BLOOM)))


EXAMPLES = {
    "unknown-option": ((b"BF.RESERVE k 0.01 10 COLOR", ours(b"-ERR unknown option 'COLOR'\r\n", OK)),
                       (b"BF.RESERVE k 0.01 10", ours(b"-ERR item exists\r\n", OK))),
    "short-option": ((b"CF.INSERT k CAP 9 ITEMS a", ours(UNKNOWN, b"*1\r\n:1\r\n")),
                     (b"CF.INSERT k CAPACITY 9 ITEMS a", ours(b"-Bad capacity\r\n", b"*1\r\n:1\r\n"))),
    "expansion-twice": ((b"BF.RESERVE k .1 9 EXPANSION 1 EXPANSION 2", ours(OK, TOO_MANY)),
                        (b"BF.RESERVE k .1 9 EXPANSION 1", ours(OK, TOO_MANY))),
    "key-like-option": ((b"BF.RESERVE EXPANSION 0.1 9", ours(OK, b"-ERR bad expansion\r\n")),
                        (b"BF.RESERVE k 0.1 9", ours(OK, b"-ERR bad expansion\r\n"))),
    "low-error-rate": ((b"BF.RESERVE k 1e-12 9", ours(b"-ERR error rate\r\n", OK)),
                       (b"BF.RESERVE k 1e-3 9", ours(b"-ERR error rate\r\n", OK))),
    "cuckoo-bounds": ((b"CF.RESERVE k 9 BUCKETSIZE 300", ours(BOUNDS % 255, BOUNDS % 4)),
                      (b"CF.RESERVE k 9 BUCKETSIZE 300", ours(BOUNDS % 255, OK))),
    "bloom-on-cuckoo": ((b"BF.MEXISTS c a b", ours(b"*2\r\n:1\r\n:0\r\n", b"*2\r\n:0\r\n:0\r\n"), CUCKOO),
                        (b"BF.MEXISTS b a b", ours(b"*2\r\n:1\r\n:0\r\n", b"*2\r\n:0\r\n:0\r\n"))),
    "equal-buckets": ((b"CF.COUNT c a", ours(b":2\r\n", b":4\r\n")), (b"CF.COUNT c a", ours(b":2\r\n", b":3\r\n"))),
    "compacted-later": ((b"CF.DEBUG c", {SERVER: COUNTS % 3, MODULE: COUNTS % 0}),
                        (b"CF.DEBUG c", {SERVER: COUNTS % 2, MODULE: COUNTS % 0})),
    "load-begun": ((b"BF.EXISTS k a", {SERVER: NO, MODULE: YES}, LOADING),
                   (b"BF.EXISTS k a", {SERVER: NO, MODULE: YES})),
    "load-existing": ((b"BF.LOADCHUNK k 9 x", {SERVER: BAD_DATA, MODULE: OK}),
                      (b"BF.LOADCHUNK k 9 x", {SERVER: OK, MODULE: BAD_DATA})),
    "load-order": ((b"CF.LOADCHUNK k 9 x", {SERVER: REFUSED, MODULE: OK}, LOADING),
                   (b"CF.LOADCHUNK k 9 x", {SERVER: OK, MODULE: ITEM_EXISTS}, LOADING)),
    "load-across": ((b"CF.LOADCHUNK k 193 x", {SERVER: OK, MODULE: REFUSED}, LOADING),
                    (b"CF.LOADCHUNK k 193 x", {SERVER: OK, MODULE: ITEM_EXISTS}, LOADING)),
    "load-past-end": ((b"CF.LOADCHUNK k 99 x", {REDISBLOOM: OK, MODULE: REFUSED}),
                      (b"CF.LOADCHUNK k 99 x", {REDISBLOOM: REFUSED, MODULE: OK})),
    "load-bad-header": ((b"BF.LOADCHUNK k 1 x", {REDISBLOOM: OK, MODULE: BAD_HEADER}),
                        (b"BF.LOADCHUNK k 2 x", {REDISBLOOM: OK, MODULE: BAD_DATA})),
    "scan-within": ((b"CF.SCANDUMP k 3", ours(b"*2\r\n:5\r\n$2\r\ncd\r\n", b"*2\r\n:5\r\n$4\r\nabcd\r\n")),
                    (b"CF.SCANDUMP k 3", ours(b"*2\r\n:5\r\n$2\r\nce\r\n", b"*2\r\n:5\r\n$4\r\nabcd\r\n"))),
    "draws": ((b"TOPK.ADD k a", ours(b"*1\r\n$-1\r\n", b"*1\r\n$1\r\nb\r\n")),
              (b"TOPK.INFO k", ours(b"*2\r\n+k\r\n:1\r\n", b"*2\r\n+k\r\n:2\r\n"))),
    "bad-increment": ((b"TOPK.INCRBY k a x", ours(b"*1\r\n-TopK: increment must be an integer\r\n", b"*1\r\n$-1\r\n")),
                      (b"TOPK.INCRBY k a x", ours(b"-ERR\r\n", b"*1\r\n$-1\r\n"))),
    "usage": ((b"BF.ADD k", {SERVER: ARITY + b" for 'bf.add' command; usage: BF.ADD key item\r\n",
                             MODULE: ARITY + b" for 'bf.add' command\r\n"}),
              (b"BF.ADD k", {SERVER: ARITY + b" for 'bf.add' command; usage: BF.ADD key item\r\n",
                             MODULE: ARITY + b" for 'bf.madd' command\r\n"})),
    "refused-in-multi": ((b"BF.RESERVE k 1", {SERVER: TOO_MANY, MODULE: b"+QUEUED\r\n"}),
                         (b"BF.RESERVE k 1", {SERVER: b"+QUEUED\r\n", MODULE: TOO_MANY})),
    "doubles": ((b"BF.INFO k ERROR", {SERVER: b",0.1\r\n", MODULE: b",0.10000000000000001\r\n"}),
                (b"BF.INFO k ERROR", {SERVER: b",0.1\r\n", MODULE: b",0.10000000000000005\r\n"})),
    "sizes": ((b"BF.INFO k", {SERVER: INFO % (1104, 1), MODULE: INFO % (1072, 1)}),
              (b"BF.INFO k", {SERVER: INFO % (1104, 1), MODULE: INFO % (1072, 2)})),
    "changes-of-loaded": ((b"BF.CHANGES k p", {SERVER: changes(HASHES[1]), MODULE: changes(*HASHES)}),
                          (b"BF.CHANGES k p COUNT 1", {SERVER: changes(HASHES[1]),
                                                       MODULE: changes(HASHES[0], more=1)}),
                          (b"BF.CHANGES k p", {SERVER: changes(*HASHES), MODULE: changes(HASHES[1])})),
    "valkey-capacity": ((b"BF.RESERVE k 0.1 4611686018427387904", ours(b"-ERR capacity\r\n", OK, VALKEY_BLOOM)),
                        (b"BF.RESERVE k 0.1 1000", ours(b"-ERR capacity\r\n", OK, VALKEY_BLOOM))),
    "valkey-expansion": ((b"BF.RESERVE k 0.1 9 EXPANSION 0", ours(OK, b"-ERR bad expansion\r\n", VALKEY_BLOOM)),
                         (b"BF.RESERVE k 0.1 9 EXPANSION 1", ours(OK, b"-ERR bad expansion\r\n", VALKEY_BLOOM))),
    "valkey-booleans": ((b"BF.MADD k a b", ours(b"*2\r\n#t\r\n#f\r\n", b"*2\r\n:1\r\n:0\r\n", VALKEY_BLOOM)),
                        (b"BF.MADD k a b", ours(b"*2\r\n#t\r\n#t\r\n", b"*2\r\n:1\r\n:0\r\n", VALKEY_BLOOM))),
    "valkey-other-type": ((b"BF.EXISTS k a", ours(NO, WRONG_TYPE, VALKEY_BLOOM)),
                          (b"BF.CARD k", ours(NO, WRONG_TYPE, VALKEY_BLOOM))),
    "development-values": ((b"RESTORE k 0 x", {SERVER: OK, MODULE: b"-ERR Bad data format\r\n"}),
                           (b"RESTORE k 0 x", {SERVER: b"-ERR Bad data format\r\n", MODULE: OK})),
    "valkey-error-rate": valkey(b"BF.RESERVE k 2 9", "ERR (0 < error rate range < 1)",
                                "ERR error rate must be in the range (0.000000, 1.000000)", OK),
    "valkey-capacity-0": valkey(b"BF.RESERVE k .1 0", "ERR (capacity should be larger than 0)",
                                "ERR capacity must be in the range [1, 1073741824]", OK),
    "valkey-tightening": valkey(b"BF.INSERT k TIGHTENING 1 ITEMS a", "ERR (0 < tightening ratio range < 1)",
                                "ERR bad tightening ratio: it must be", OK),
    "valkey-insert-number": valkey(b"BF.INSERT k CAPACITY x ITEMS a", "ERR bad capacity", "Bad capacity", ITEM_EXISTS),
    "valkey-unknown-option": valkey(b"BF.INSERT k COLOR ITEMS a", "ERR unknown argument received",
                                    "Unknown argument received", OK),
    "valkey-info-field": valkey(b"BF.INFO k COLOR", "ERR invalid information value", "Invalid information value", OK),
    "valkey-cannot-grow": ((b"BF.MADD k a b", ours(b"*2\r\n-ERR problem inserting into filter: x\r\n:0\r\n",
                                                   b"*1\r\n-ERR bad capacity\r\n", VALKEY_BLOOM)),
                           (b"BF.MADD k a b", ours(b"*2\r\n:1\r\n:0\r\n", b"*1\r\n-ERR bad capacity\r\n",
                                                   VALKEY_BLOOM))),
    "valkey-too-large": valkey(b"BF.RESERVE k .1 1000000000", "ERR operation exceeds bloom object memory limit",
                               "OOM the filter needs", OK),
    "valkey-load": valkey(b"BF.LOAD k x", "ERR (0 < error rate range < 1)",
                          "ERR error rate must be in the range (0, 1)", OK),
}
