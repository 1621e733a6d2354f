package tlsconf

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
)

// digest is a SHA-256 that identifies content.
type digest [sha256.Size]byte

// digester hashes parts with their lengths, so that different sequences of parts have
// different digests.
type digester struct{ h hash.Hash }

// digestOf starts a digest with the kind of content.
func digestOf(kind string) digester { return digester{sha256.New()}.text(kind) }

func (d digester) bytes(b []byte) digester {
	d.number(uint64(len(b)))
	d.h.Write(b)
	return d
}

func (d digester) text(s string) digester { return d.bytes([]byte(s)) }

func (d digester) list(l [][]byte) digester {
	d.number(uint64(len(l)))
	for _, b := range l {
		d.bytes(b)
	}
	return d
}

func (d digester) number(n uint64) digester {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], n)
	d.h.Write(b[:])
	return d
}

func (d digester) flag(b bool) digester {
	if b {
		return d.number(1)
	}
	return d.number(0)
}

func (d digester) sum() (out digest) {
	d.h.Sum(out[:0])
	return out
}
