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
	kindAt     = 12 // offset of the kind
	sumAt      = 32 // offset of the checksum; it covers the header up to here

	kindWhole   = 0
	kindFollows = 1

	// maxBody is the maximum size of a body. A configuration that uses every backend ID
	// with long names takes about 20 MiB. A zone with the maximum number of records takes
	// 90 MiB.
	maxBody = 128 << 20
)

// encoding is deterministic: struct fields keep their order, and the configuration
// contains no maps. Addresses are encoded by MarshalBinary, which preserves zones and the
// IPv4-mapped IPv6 form.
var encoding = func() cbor.EncMode {
	mode, err := cbor.EncOptions{
		BinaryMarshaler: cbor.BinaryMarshalerByteString,
		IndefLength:     cbor.IndefLengthForbidden,
		TagsMd:          cbor.TagsForbidden,
	}.EncMode()
	if err != nil {
		panic(err) // at start-up; the options are constant
	}
	return mode
}()

// Encode returns a whole snapshot of cfg. It does not check cfg. It returns ErrTooLarge if
// the body would exceed maxBody.
func Encode(generation uint64, cfg *farm.Config) ([]byte, error) {
	next, rest, err := new(Writer).encode(generation, cfg)
	if err != nil {
		return nil, err
	}
	all, err := next.whole(rest)
	return slices.Concat(all...), err
}

// farmsName is the encoding of the first name of a configuration (RFC 8949 §3.1). farmsAt
// is the offset of the list of farms, which follows the map head and farmsName.
const (
	farmsName = "\x65farms"
	farmsAt   = 1 + len(farmsName)
)

// Publish checks and encodes cfg and returns sealed memory with the whole snapshot. The
// caller sends it to the engines and closes it.
func Publish(generation uint64, cfg *farm.Config) (*os.File, error) {
	return new(Writer).Publish(generation, cfg, 0)
}

// whole returns the whole snapshot in pieces, so that large zones are not copied.
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

// seal completes the header at the start of the first piece.
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

// checksum hashes everything except itself, including the generation. The header is in the
// first piece.
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

// listHead and textHead return the head of a list and of a text (RFC 8949 §3.1).
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
