package sign

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
	"time"

	"github.com/sluicelb/sluice/dns/wire"
)

// How long signatures hold: they begin before they are made, since clocks differ, and are
// made anew before they end, as resolvers keep them.
const (
	validity = 14 * 24 * 3600
	before   = 3600
	fresh    = 7 * 24 * 3600 // how much of it must be left when one is sent
)

// headSize is the size of the data of RRSIG records without the name of the zone and the
// signature (RFC 4034 §3.1).
const headSize = 18

// MaxSize is how much room the data of a signature take at most.
const MaxSize = headSize + wire.MaxName + signatureSize

// ways is how many signatures may have one place in the memory, which has so many places:
// for the sets of names a zone has, and for those of names somebody may invent in any
// number, to be told that they are not there or what a wildcard says.
const (
	ways        = 4
	places      = 4096
	synthesized = 1024
)

// MaxSynthesized is how many signatures for answers about names a zone does not have (by a
// wildcard, RFC 4592, or to deny them, RFC 9824) are made in a second at most for
// clients whose address may be borrowed: an eighth of a processor, where one takes 25
// microseconds.
const MaxSynthesized = 5000

// Signer signs on one loop, and keeps what it signed.
type Signer struct {
	// Now is the time in seconds since 1970; nil is the clock's.
	Now func() int64

	seed         maphash.Seed
	sets, others []kept // for names of the zone, and for those it does not have
	tick         uint32
	second       int64 // in which signatures for synthesized answers are counted
	count        int
	message      []byte
	data         []byte
}

// Purpose is what a signature is for.
type Purpose uint8

// What it may be for.
const (
	Existing              Purpose = iota // a name the zone has
	Synthesized                          // one it does not have
	SynthesizedUnverified                // the same, asked for by somebody whose address may be borrowed
)

// kept is a signature that was made.
type kept struct {
	// message is what was signed, with the times left out; key made it.
	message   []byte
	key       [sizeOfID]byte
	used      uint32
	ends      int64
	inception uint32
	signature [signatureSize]byte
}

// sizeOfID is how many bytes of a public key tell it from others.
const sizeOfID = 32

// Set begins a set of records with one owner, in lower case and not compressed.
func (s *Signer) Set(k *Keys, owner []byte, kind uint16, ttl uint32) {
	m := append(s.message[:0], byte(kind>>8), byte(kind), 0, labels(owner))
	m = binary.BigEndian.AppendUint32(m, ttl)
	m = append(m, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0) // the times and the tag of the key
	s.message = append(m, k.signer...)
}

// Record adds a record, in the order of RFC 4034 §6.3, with its data in the form of §6.2.
func (s *Signer) Record(owner []byte, kind uint16, ttl uint32, data []byte) {
	m := append(s.message, owner...)
	m = append(m, byte(kind>>8), byte(kind), 0, byte(wire.ClassIN))
	m = binary.BigEndian.AppendUint32(m, ttl)
	m = binary.BigEndian.AppendUint16(m, uint16(len(data)))
	s.message = append(m, data...)
}

// labels is how many labels a name has without the root, and without a wildcard's.
func labels(name []byte) (n byte) {
	if len(name) > 1 && name[0] == 1 && name[1] == '*' {
		name = name[2:]
	}
	for ; name[0] != 0; name = name[1+int(name[0]):] {
		n++
	}
	return n
}

// Sign calls each with the data of every signature the set must have. It reports false when
// it cannot be signed, and when that would be more than MaxSynthesized.
func (s *Signer) Sign(k *Keys, kind uint16, of Purpose, each func(data []byte) bool) bool {
	by := k.active
	if kind == wire.TypeDNSKEY {
		by = k.all
	}
	for _, key := range by {
		data, ok := s.by(k, key, of)
		if !ok || !each(data) {
			return false
		}
	}
	return true
}

// by is the data of the signature one key makes of the message.
func (s *Signer) by(k *Keys, key *Key, of Purpose) ([]byte, bool) {
	now := time.Now().Unix
	if s.Now != nil {
		now = s.Now
	}
	m := s.message
	m[2] = key.algorithm
	binary.BigEndian.PutUint32(m[8:], 0)
	binary.BigEndian.PutUint32(m[12:], 0)
	binary.BigEndian.PutUint16(m[16:], key.tag)
	at := s.place(key, of, now())
	if at == nil {
		return nil, false
	}
	if at.ends == 0 {
		begins := now() - before
		at.inception, at.ends = uint32(begins), begins+validity
		s.times(at)
		var err error
		if at.signature, err = key.sign(m); err != nil {
			at.ends = 0
			return nil, false
		}
	} else {
		s.times(at)
	}
	s.data = append(append(s.data[:0], m[:headSize+len(k.signer)]...), at.signature[:]...)
	return s.data, true
}

// may counts a signature for a synthesized answer, and reports whether it is not one too many.
func (s *Signer) may(now int64) bool {
	if s.second != now {
		s.second, s.count = now, 0
	}
	s.count++
	return s.count <= MaxSynthesized
}

func (s *Signer) times(at *kept) {
	binary.BigEndian.PutUint32(s.message[8:], uint32(at.ends))
	binary.BigEndian.PutUint32(s.message[12:], at.inception)
}

// place is where the signature of the message is kept, nil when none may be made for it. One
// without an end is still to be made: it took the place of the one that was asked for
// longest ago.
func (s *Signer) place(key *Key, of Purpose, now int64) *kept {
	all := s.memory(of)
	first := int(maphash.Bytes(s.seed, s.message)) & (len(all)/ways - 1) * ways
	id := [sizeOfID]byte(key.DNSKEY[4:])
	s.tick++
	oldest := &all[first]
	for i := first; i < first+ways; i++ {
		at := &all[i]
		if at.key == id && bytes.Equal(at.message, s.message) {
			at.used = s.tick
			if at.ends-now < fresh || now < int64(at.inception) {
				at.ends = 0
			}
			return at
		}
		if s.tick-at.used > s.tick-oldest.used {
			oldest = at
		}
	}
	if of == SynthesizedUnverified && !s.may(now) {
		return nil
	}
	oldest.message = append(oldest.message[:0], s.message...)
	oldest.key, oldest.used, oldest.ends = id, s.tick, 0
	return oldest
}

// memory is where signatures of one sort are kept. It is there once something is signed.
func (s *Signer) memory(of Purpose) []kept {
	if s.sets == nil {
		s.seed = maphash.MakeSeed()
		s.sets, s.others = make([]kept, places*ways), make([]kept, synthesized*ways)
	}
	if of == Existing {
		return s.sets
	}
	return s.others
}
