package tlsconf

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
)

// digest identifies content: equal digests, equal content.
type digest [sha256.Size]byte

// digester makes a digest of parts, each with its length, so that no two
// sequences of parts look the same.
type digester struct{ h hash.Hash }

// digestOf starts with what kind of content it is.
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
