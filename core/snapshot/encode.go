package snapshot

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"slices"

	"github.com/fxamacker/cbor/v2"

	"github.com/sluicelb/sluice/core/farm"
)

const (
	magic      = "SLUICE\x00S"
	headerSize = 64
	kindAt     = 12 // where the kind lies
	sumAt      = 32 // where the checksum lies, and how much of the header it covers

	kindWhole   = 0
	kindFollows = 1

	// maxBody bounds the body. Every backend ID in use with long names takes about 20 MiB,
	// a zone with as many records as it may have 90.
	maxBody = 128 << 20
)

// encoding writes the same bytes for the same configuration: struct fields in
// their order, and the configuration has no maps. Addresses go as the bytes of
// their MarshalBinary, which keeps zones and the IPv4-in-IPv6 form.
var encoding = func() cbor.EncMode {
	mode, err := cbor.EncOptions{
		BinaryMarshaler: cbor.BinaryMarshalerByteString,
		IndefLength:     cbor.IndefLengthForbidden,
		TagsMd:          cbor.TagsForbidden,
	}.EncMode()
	if err != nil {
		panic(err) // start-up: the options are constant
	}
	return mode
}()

// Encode returns cfg as the bytes of a whole snapshot of that generation. It does
// not check cfg; one that is too large is refused (ErrTooLarge).
func Encode(generation uint64, cfg *farm.Config) ([]byte, error) {
	next, rest, err := new(Writer).encode(generation, cfg)
	if err != nil {
		return nil, err
	}
	all, err := next.whole(rest)
	return slices.Concat(all...), err
}

// farmsName is the first name in the encoding of a configuration, a text of five bytes
// (RFC 8949 §3.1), and farmsAt where the list of farms lies: behind that and the head of
// the map.
const (
	farmsName = "\x65farms"
	farmsAt   = 1 + len(farmsName)
)

// Publish checks and encodes cfg and returns the descriptor of sealed memory
// that holds the whole snapshot, to be sent to the engines and closed by the caller.
func Publish(generation uint64, cfg *farm.Config) (*os.File, error) {
	return new(Writer).Publish(generation, cfg, 0)
}

// whole returns the bytes of the snapshot with all of its farms, in pieces: a large zone is
// not copied.
func (w *written) whole(rest []byte) ([][]byte, error) {
	first := append(make([]byte, headerSize, headerSize+len(rest)), rest[:farmsAt]...)
	if w.farms == nil {
		first = append(first, rest[farmsAt])
	} else {
		first = append(first, listHead(len(w.farms))...)
	}
	all := [][]byte{first}
	for _, e := range w.entries {
		encoded, err := e.full()
		if err != nil {
			return nil, fmt.Errorf("encode generation %d: %w: %w", w.generation, ErrBody, err)
		}
		all = append(all, encoded...)
	}
	return seal(w.generation, kindWhole, append(all, rest[farmsAt+1:]))
}

// seal completes the header, which the first of the pieces begins with.
func seal(generation uint64, kind uint32, all [][]byte) ([][]byte, error) {
	n := -headerSize
	for _, b := range all {
		n += len(b)
	}
	if n > maxBody {
		return nil, fmt.Errorf("%w: %d MiB, at most %d are possible; have fewer farms, or fewer records in their zones", ErrTooLarge, (n+1<<20-1)>>20, maxBody>>20)
	}
	b := all[0]
	copy(b, magic)
	binary.LittleEndian.PutUint32(b[8:], Layout)
	binary.LittleEndian.PutUint32(b[kindAt:], kind)
	binary.LittleEndian.PutUint64(b[16:], generation)
	binary.LittleEndian.PutUint64(b[24:], uint64(n))
	sum := checksum(all...)
	copy(b[sumAt:headerSize], sum[:])
	return all, nil
}

// checksum covers everything but itself, so that a flipped bit of the
// generation is found too. The header lies in the first piece.
func checksum(all ...[]byte) (sum [sha256.Size]byte) {
	h := sha256.New()
	h.Write(all[0][:sumAt])
	h.Write(all[0][headerSize:])
	for _, b := range all[1:] {
		h.Write(b)
	}
	h.Sum(sum[:0])
	return sum
}

// listHead returns the head of a list, textHead that of a text (RFC 8949 §3.1).
func listHead(n int) []byte { return itemHead(4<<5, n) }
func textHead(n int) []byte { return itemHead(3<<5, n) }

func itemHead(major byte, n int) []byte {
	switch {
	case n < 24:
		return []byte{major | byte(n)}
	case n <= math.MaxUint8:
		return []byte{major | 24, byte(n)}
	case n <= math.MaxUint16:
		return binary.BigEndian.AppendUint16([]byte{major | 25}, uint16(n))
	}
	return binary.BigEndian.AppendUint32([]byte{major | 26}, uint32(n))
}
