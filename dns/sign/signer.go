package sign

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
	"time"

	"github.com/sluicelb/sluice/dns/wire"
)

// Validity of signatures in seconds. They begin in the past, because clocks differ, and are
// renewed before they end, because resolvers cache them.
const (
	validity = 14 * 24 * 3600
	before   = 3600
	fresh    = 7 * 24 * 3600 // minimum remaining validity when sent
)

// headSize is the size of RRSIG data without signer name and signature (RFC 4034 §3.1).
const headSize = 18

// MaxSize is the maximum size of the data of a signature.
const MaxSize = headSize + wire.MaxName + signatureSize

// ways is the associativity of the signature cache. places is its number of sets for names
// of a zone. synthesized is that for random names, which are denied or match a wildcard.
const (
	ways        = 4
	places      = 4096
	synthesized = 1024
)

// MaxSynthesized is the maximum number of signatures per second for names outside a zone,
// for clients whose address may be spoofed. Such names match a wildcard (RFC 4592) or are
// denied (RFC 9824). The limit is an eighth of a processor at 25 microseconds each.
const MaxSynthesized = 5000

// Signer signs on one loop and caches its signatures.
type Signer struct {
	// Now returns the Unix time in seconds; nil means the system clock.
	Now func() int64

	seed         maphash.Seed
	sets, others []kept // names of the zone, and others
	tick         uint32
	second       int64 // in which signatures for synthesized answers are counted
	count        int
	message      []byte
	data         []byte
}

// Purpose is the kind of answer a signature is for.
type Purpose uint8

// The purposes.
const (
	Existing              Purpose = iota // a name of the zone
	Synthesized                          // another name
	SynthesizedUnverified                // the same, for a client whose address may be spoofed
)

// kept is a cached signature.
type kept struct {
	// message is the signed message without its times; key identifies the key.
	message   []byte
	key       [sizeOfID]byte
	used      uint32
	ends      int64
	inception uint32
	signature [signatureSize]byte
}

// sizeOfID is how many bytes of a public key identify it.
const sizeOfID = 32

// Set begins a record set with one owner, in lower case and not compressed.
func (s *Signer) Set(k *Keys, owner []byte, kind uint16, ttl uint32) {
	m := append(s.message[:0], byte(kind>>8), byte(kind), 0, labels(owner))
	m = binary.BigEndian.AppendUint32(m, ttl)
	m = append(m, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0) // times and key tag
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

// labels returns the number of labels of a name without the root and a wildcard's.
func labels(name []byte) (n byte) {
	if len(name) > 1 && name[0] == 1 && name[1] == '*' {
		name = name[2:]
	}
	for ; name[0] != 0; name = name[1+int(name[0]):] {
		n++
	}
	return n
}

// Sign calls each with the data of every signature the set needs. It reports false if
// signing fails or MaxSynthesized is exceeded.
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

// by returns the data of one key's signature of the message.
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

// may counts a signature for a synthesized answer and reports whether it is within the
// limit.
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

// place returns the cache entry for the signature of the message, or nil if none may be
// made. An entry without an end must still be signed: it replaced the least recently used
// one.
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

// memory returns the cache for a purpose. It is allocated with the first signature.
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
