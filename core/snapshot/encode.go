package snapshot

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"os"

	"github.com/fxamacker/cbor/v2"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/shm"
)

const (
	magic      = "SLUICE\x00S"
	headerSize = 64
	sumAt      = 32 // where the checksum lies, and how much of the header it covers

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

// Encode returns cfg as the bytes of a snapshot of that generation. It does
// not check cfg; one that is too large is refused (ErrTooLarge).
func Encode(generation uint64, cfg *farm.Config) ([]byte, error) {
	return new(Writer).encode(generation, cfg)
}

// Writer encodes one configuration after the other, of which most farms are as they
// were: those are known again by where their settings lie (farm.Farm is comparable), and
// nobody may change them any more. The bytes are those of Encode. The zero value knows
// nothing. One goroutine uses it at a time.
type Writer struct {
	known map[farm.Farm][]byte
	size  int // of the last snapshot
}

// farmsName is the first name in the encoding of a configuration, a text of five bytes
// (RFC 8949 §3.1), and farmsAt where the list of farms lies: behind that and the head of
// the map.
const (
	farmsName = "\x65farms"
	farmsAt   = 1 + len(farmsName)
)

func (w *Writer) encode(generation uint64, cfg *farm.Config) ([]byte, error) {
	fail := func(err error) ([]byte, error) {
		return nil, fmt.Errorf("encode generation %d: %w: %w", generation, ErrBody, err)
	}
	without := *cfg
	without.Farms = nil
	rest, err := encoding.Marshal(&without)
	if err != nil {
		return fail(err)
	}
	var out bytes.Buffer
	out.Grow(headerSize + len(rest) + w.size)
	out.Write(make([]byte, headerSize))
	out.Write(rest[:farmsAt])
	known := make(map[farm.Farm][]byte, len(cfg.Farms))
	if cfg.Farms == nil {
		out.WriteByte(rest[farmsAt])
	} else {
		out.Write(listHead(len(cfg.Farms)))
	}
	for i := range cfg.Farms {
		f := &cfg.Farms[i]
		b, is := w.known[*f]
		if !is {
			if b, err = encoding.Marshal(f); err != nil {
				return fail(err)
			}
		}
		known[*f] = b
		out.Write(b)
	}
	out.Write(rest[farmsAt+1:])
	w.known, w.size = known, out.Len()
	b := out.Bytes()
	if n := len(b) - headerSize; n > maxBody {
		return nil, fmt.Errorf("%w: %d MiB, at most %d are possible; have fewer farms, or fewer records in their zones", ErrTooLarge, (n+1<<20-1)>>20, maxBody>>20)
	}
	copy(b, magic)
	binary.LittleEndian.PutUint32(b[8:], Layout)
	binary.LittleEndian.PutUint64(b[16:], generation)
	binary.LittleEndian.PutUint64(b[24:], uint64(len(b)-headerSize))
	sum := checksum(b)
	copy(b[sumAt:headerSize], sum[:])
	return b, nil
}

// Publish checks and encodes cfg and returns the descriptor of sealed memory
// that holds the snapshot, to be sent to the engines and closed by the caller.
func Publish(generation uint64, cfg *farm.Config) (*os.File, error) {
	return new(Writer).Publish(generation, cfg)
}

// Publish is the function Publish.
func (w *Writer) Publish(generation uint64, cfg *farm.Config) (*os.File, error) {
	if err := Check(cfg); err != nil {
		return nil, fmt.Errorf("publish generation %d: %w", generation, err)
	}
	b, err := w.encode(generation, cfg)
	if err != nil {
		return nil, err
	}
	f, err := shm.Sealed("sluice-snapshot", b)
	if err != nil {
		return nil, fmt.Errorf("publish generation %d: %w", generation, err)
	}
	return f, nil
}

// checksum covers everything but itself, so that a flipped bit of the
// generation is found too.
func checksum(b []byte) (sum [sha256.Size]byte) {
	h := sha256.New()
	h.Write(b[:sumAt])
	h.Write(b[headerSize:])
	h.Sum(sum[:0])
	return sum
}

// listHead is the head of a list (RFC 8949 §3.1).
func listHead(n int) []byte {
	const list = 4 << 5
	switch {
	case n < 24:
		return []byte{list | byte(n)}
	case n <= math.MaxUint8:
		return []byte{list | 24, byte(n)}
	case n <= math.MaxUint16:
		return binary.BigEndian.AppendUint16([]byte{list | 25}, uint16(n))
	}
	return binary.BigEndian.AppendUint32([]byte{list | 26}, uint32(n))
}
