package snapshot

import (
	"encoding/binary"

	"github.com/sluicelb/sluice/core/farm"
)

// Frame returns body after a correct header.
func Frame(generation uint64, body []byte) []byte {
	b := append(make([]byte, headerSize), body...)
	copy(b, magic)
	binary.LittleEndian.PutUint32(b[8:], Layout)
	binary.LittleEndian.PutUint64(b[16:], generation)
	binary.LittleEndian.PutUint64(b[24:], uint64(len(body)))
	Reseal(b)
	return b
}

// FrameFollowing is like Frame for a body that follows another snapshot.
func FrameFollowing(generation uint64, body []byte) []byte {
	b := Frame(generation, body)
	binary.LittleEndian.PutUint32(b[kindAt:], kindFollows)
	Reseal(b)
	return b
}

// Decode is like Load for bytes, without the check.
func (r *Reader) Decode(b []byte) (uint64, *farm.Config, error) { return r.decode(b) }

// Reseal corrects the checksum of a changed snapshot.
func Reseal(b []byte) {
	sum := checksum(b)
	copy(b[sumAt:headerSize], sum[:])
}

// Elements returns the total number of elements of all lists in a body.
func Elements(body []byte) uint64 { return elements(body) }

const (
	HeaderSize  = headerSize
	MaxBody     = maxBody
	MaxElements = maxElements
	RecordSize  = recordSize
)
