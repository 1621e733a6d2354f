package farm

import (
	"encoding/binary"
	"math"
)

// PackedRun is the maximum number of records in a packed run.
const PackedRun = 1024

// AppendPacked appends records in the packed form of Zone.Packed. A record is its ID and
// TTL as uvarints (encoding/binary), then type, name, data and comment. Each of these is a
// uvarint length and its bytes. The packed form needs about a quarter of the memory of
// Record values and has no pointers.
func AppendPacked(b []byte, records []Record) []byte {
	for i := range records {
		r := &records[i]
		b = binary.AppendUvarint(b, uint64(r.ID))
		b = binary.AppendUvarint(b, uint64(r.TTL))
		for _, text := range [...]string{string(r.Type), r.Name, r.Data, r.Comment} {
			b = binary.AppendUvarint(b, uint64(len(text)))
			b = append(b, text...)
		}
	}
	return b
}

// Unpack appends the records of a packed run to list. Their texts share the memory of run.
// It reports false if run is malformed or has more than PackedRun records.
func Unpack(list []Record, run string) (_ []Record, ok bool) {
	for n := 0; len(run) > 0; n++ {
		var r Record
		if r, run, ok = unpackOne(run); !ok || n == PackedRun {
			return list, false
		}
		list = append(list, r)
	}
	return list, true
}

// CountPacked returns the number of records in a packed run, or false if Unpack would.
func CountPacked(run string) (n int, ok bool) {
	for ; len(run) > 0; n++ {
		if _, run, ok = unpackOne(run); !ok || n == PackedRun {
			return n, false
		}
	}
	return n, true
}

// unpackOne returns the first record of a packed run and the remaining run.
func unpackOne(run string) (r Record, rest string, ok bool) {
	id, rest, ok := uvarint32(run)
	if !ok {
		return r, rest, false
	}
	ttl, rest, ok := uvarint32(rest)
	if !ok {
		return r, rest, false
	}
	var texts [4]string
	for i := range texts {
		var size uint32
		if size, rest, ok = uvarint32(rest); !ok || uint64(size) > uint64(len(rest)) {
			return r, rest, false
		}
		texts[i], rest = rest[:size], rest[size:]
	}
	return Record{ID: id, TTL: Seconds(ttl), Type: RecordType(texts[0]), Name: texts[1], Data: texts[2], Comment: texts[3]}, rest, true
}

// uvarint32 is like binary.Uvarint for strings and 32-bit numbers.
func uvarint32(s string) (v uint32, rest string, ok bool) {
	var all uint64
	for i := 0; i < len(s) && i < binary.MaxVarintLen32; i++ {
		all |= uint64(s[i]&0x7f) << (7 * i)
		if s[i] < 0x80 {
			return uint32(all), s[i+1:], all <= math.MaxUint32
		}
	}
	return 0, s, false
}

// Unpacked returns the records of the zone, packed or not.
func (z *Zone) Unpacked() []Record {
	if len(z.Packed) == 0 {
		return z.Records
	}
	list := make([]Record, 0, len(z.Packed)*PackedRun)
	for _, run := range z.Packed {
		list, _ = Unpack(list, run)
	}
	return append(list, z.Records...)
}
