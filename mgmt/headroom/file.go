package headroom

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/sluicelb/sluice/core/farm"
)

// ErrDamaged means that the data is not a book: truncated, changed, or of another
// version.
var ErrDamaged = errors.New("it is no record of head-room, or damaged")

// Layout: headline, backends, and the CRC-32C of everything before. A backend: ID, flags
// (uvarint), key (8 bytes). Times of last configuration, start of learning and last aging
// (varint, Unix seconds). Drift (float32). Peaks (uvarint count; hour uvarint, load and
// rate float32). Cells (uvarint count; at uint16, weight float32). Fixed-size numbers are
// little endian.
const (
	headline  = "sluice headroom 1\n"
	flagAnew  = 1
	sumLength = 4
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Encode returns the book as bytes. ok is false if nothing changed since the last Encode
// or Decode.
func (b *Book) Encode() ([]byte, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.changed {
		return nil, false
	}
	b.changed = false
	out := []byte(headline)
	for _, id := range slices.Sorted(maps.Keys(b.backends)) {
		out = b.backends[id].append(out, id)
	}
	return binary.LittleEndian.AppendUint32(out, crc32.Checksum(out, castagnoli)), true
}

// Unsaved records that the last result of Encode was not stored.
func (b *Book) Unsaved() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.changed = true
}

func (b *backend) append(out []byte, id uint32) []byte {
	out = binary.AppendUvarint(out, uint64(id))
	flags := uint64(0)
	if b.anew {
		flags |= flagAnew
	}
	out = binary.AppendUvarint(out, flags)
	out = binary.LittleEndian.AppendUint64(out, b.key)
	for _, t := range []time.Time{b.seen, b.since, b.curve.aged} {
		out = binary.AppendVarint(out, unix(t))
	}
	out = appendFloat(out, float32(b.drift))
	peaks := slices.DeleteFunc(slices.Clone(b.peaks[:]), func(p peak) bool { return p.hour == 0 })
	out = binary.AppendUvarint(out, uint64(len(peaks)))
	for _, p := range peaks {
		out = appendFloat(appendFloat(binary.AppendUvarint(out, uint64(p.hour)), p.load), p.rate)
	}
	out = binary.AppendUvarint(out, uint64(len(b.curve.cells)))
	for _, c := range b.curve.cells {
		out = appendFloat(binary.LittleEndian.AppendUint16(out, c.at), c.weight)
	}
	return out
}

func appendFloat(out []byte, v float32) []byte {
	return binary.LittleEndian.AppendUint32(out, math.Float32bits(v))
}

// unix returns a time in Unix seconds, 0 for the zero time.
func unix(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.Unix()
}

// Decode parses a result of Encode. It fails with ErrDamaged and the reason.
func Decode(data []byte) (*Book, error) {
	end := len(data) - sumLength
	if end < len(headline) || string(data[:len(headline)]) != headline {
		return nil, fmt.Errorf("%w: it does not begin with %q", ErrDamaged, headline)
	}
	if binary.LittleEndian.Uint32(data[end:]) != crc32.Checksum(data[:end], castagnoli) {
		return nil, fmt.Errorf("%w: its checksum is another one", ErrDamaged)
	}
	b, r := New(), &reader{data: data[len(headline):end]}
	for len(r.data) > 0 && !r.bad {
		id, one := r.backend()
		if r.bad = r.bad || id == 0 || id > farm.MaxBackendID || b.backends[uint32(id)] != nil; !r.bad {
			b.backends[uint32(id)] = one
		}
	}
	if r.bad {
		return nil, fmt.Errorf("%w: backend %d cannot be read", ErrDamaged, len(b.backends))
	}
	return b, nil
}

// reader reads values from the front of data. bad is true if one was missing or invalid.
type reader struct {
	data []byte
	bad  bool
}

func (r *reader) backend() (id uint64, b *backend) {
	b = &backend{from: loadBins}
	id = r.uvarint()
	b.anew = r.uvarint()&flagAnew != 0
	b.key = binary.LittleEndian.Uint64(r.take(8))
	b.seen, b.since, b.curve.aged = r.time(), r.time(), r.time()
	b.drift = float64(r.float(-1, 1))
	for range r.atMost(hours) {
		p := peak{hour: uint32(r.uvarint()), load: r.float(0, math.MaxFloat32), rate: r.float(0, math.MaxFloat32)}
		b.peaks[p.hour%hours] = p
	}
	last := -1
	for range r.atMost(maxCells) {
		c := cell{at: binary.LittleEndian.Uint16(r.take(2)), weight: r.float(0, math.MaxFloat32)}
		r.bad = r.bad || int(c.at) <= last || c.at>>8 >= loadBins || c.at&0xff >= timeBins
		last = int(c.at)
		b.curve.cells = append(b.curve.cells, c)
	}
	return id, b
}

// zeros replace missing bytes.
var zeros [8]byte

func (r *reader) take(n int) []byte {
	if r.bad = r.bad || len(r.data) < n; r.bad {
		return zeros[:n]
	}
	out := r.data[:n]
	r.data = r.data[n:]
	return out
}

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.data)
	r.skip(n)
	return v
}

func (r *reader) time() time.Time {
	v, n := binary.Varint(r.data)
	if r.skip(n); v == 0 {
		return time.Time{}
	}
	return time.Unix(v, 0)
}

func (r *reader) skip(n int) {
	if r.bad = r.bad || n <= 0; !r.bad {
		r.data = r.data[n:]
	}
}

// atMost reads a count of at most most.
func (r *reader) atMost(most uint64) uint64 {
	n := r.uvarint()
	if r.bad = r.bad || n > most; r.bad {
		return 0
	}
	return n
}

func (r *reader) float(low, high float32) float32 {
	v := math.Float32frombits(binary.LittleEndian.Uint32(r.take(4)))
	if !(v >= low && v <= high) { // false for NaN
		r.bad = true
		return 0
	}
	return v
}
