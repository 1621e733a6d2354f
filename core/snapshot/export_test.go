package snapshot

import "encoding/binary"

// Frame puts a correct header before any body.
func Frame(generation uint64, body []byte) []byte {
	b := append(make([]byte, headerSize), body...)
	copy(b, magic)
	binary.LittleEndian.PutUint32(b[8:], Layout)
	binary.LittleEndian.PutUint64(b[16:], generation)
	binary.LittleEndian.PutUint64(b[24:], uint64(len(body)))
	Reseal(b)
	return b
}

// Reseal makes the checksum of a changed snapshot right again.
func Reseal(b []byte) {
	sum := checksum(b)
	copy(b[sumAt:headerSize], sum[:])
}

// Elements is how many elements the lists of a body have together.
func Elements(body []byte) uint64 { return elements(body) }

const (
	HeaderSize  = headerSize
	MaxBody     = maxBody
	MaxElements = maxElements
	RecordSize  = recordSize
)
