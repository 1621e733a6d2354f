package timeseries

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"time"
)

// Kind determines how values are consolidated.
type Kind byte

// Kinds of consolidation.
const (
	Mean Kind = iota
	Max
)

// MaxName bounds the name of a series in bytes.
const MaxName = 38

// maxColumns bounds the series of a file; a farm cannot have that many backends.
const maxColumns = 1 << 16

// column is a series in a file. Values before since belong to the previous series of the
// column.
type column struct {
	name  string
	kind  Kind
	since int64 // Unix seconds
}

// The file begins with its header: the magic, the checksum of the rest, the number of
// columns, and the columns, each of the same size.
const (
	magic      = "sluice timeseries 1\n"
	prefixSize = len(magic) + 4 + 4
	columnSize = 1 + 1 + MaxName + 8
	page       = 4096
)

// headerSize returns the size of the header in whole pages.
func headerSize(columns int) int64 {
	n := prefixSize + columns*columnSize
	return int64((n + page - 1) / page * page)
}

func encodeHeader(columns []column) []byte {
	out := make([]byte, headerSize(len(columns)))
	copy(out, magic)
	body := out[len(magic)+4:]
	binary.LittleEndian.PutUint32(body, uint32(len(columns)))
	for i, c := range columns {
		b := body[4+i*columnSize:][:columnSize]
		b[0], b[1] = byte(c.kind), byte(len(c.name))
		copy(b[2:2+MaxName], c.name)
		binary.LittleEndian.PutUint64(b[2+MaxName:], uint64(c.since))
	}
	binary.LittleEndian.PutUint32(out[len(magic):], crc32.ChecksumIEEE(body))
	return out
}

var errDamaged = errors.New("the file is damaged")

// decodePrefix returns the number of columns from the first bytes of a file.
func decodePrefix(b []byte) (columns int, err error) {
	if len(b) < prefixSize || string(b[:len(magic)]) != magic {
		return 0, fmt.Errorf("%w: it does not begin as a file of numbers does", errDamaged)
	}
	n := binary.LittleEndian.Uint32(b[len(magic)+4:])
	if n > maxColumns {
		return 0, fmt.Errorf("%w: it says it has %d series", errDamaged, n)
	}
	return int(n), nil
}

// decodeHeader decodes a complete header.
func decodeHeader(b []byte) ([]column, error) {
	n, err := decodePrefix(b)
	if err != nil {
		return nil, err
	}
	if int64(len(b)) != headerSize(n) || binary.LittleEndian.Uint32(b[len(magic):]) != crc32.ChecksumIEEE(b[len(magic)+4:]) {
		return nil, fmt.Errorf("%w: its checksum is wrong", errDamaged)
	}
	columns := make([]column, n)
	for i := range columns {
		c := b[prefixSize+i*columnSize:][:columnSize]
		if c[0] > byte(Max) || c[1] > MaxName {
			return nil, fmt.Errorf("%w: series %d cannot be", errDamaged, i)
		}
		columns[i] = column{name: string(c[2 : 2+c[1]]), kind: Kind(c[0]), since: int64(binary.LittleEndian.Uint64(c[2+MaxName:]))}
	}
	return columns, nil
}

// has reports whether a row with that end contains values of the column's series.
func (c column) has(end time.Time) bool { return end.Unix() > c.since }
