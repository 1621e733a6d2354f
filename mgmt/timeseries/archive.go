package timeseries

import (
	"encoding/binary"
	"math"
	"time"
)

// Resolution is the step of an archive and its number of rows.
type Resolution struct {
	Step time.Duration
	Rows int
}

// Keeps returns the period of an archive.
func (r Resolution) Keeps() time.Duration { return r.Step * time.Duration(r.Rows) }

// Resolutions are the archives of every file, finest first. Each step is a multiple of
// the previous one.
var Resolutions = [...]Resolution{
	{5 * time.Second, 720},
	{time.Minute, 1440},
	{5 * time.Minute, 2016},
	{time.Hour, 8760},
}

// stampSize is the size of a row's time, its number since 1970 in steps.
const stampSize = 4

func rowSize(columns int) int { return stampSize + 2*columns }

// number returns the row number of a time, counted from 1970.
func (r Resolution) number(at time.Time) int64 { return at.Unix() / int64(r.Step/time.Second) }

// at returns the start of a row.
func (r Resolution) at(number int64) time.Time {
	return time.Unix(number*int64(r.Step/time.Second), 0)
}

// end returns the end of a row.
func (r Resolution) end(number int64) time.Time { return r.at(number + 1) }

// row is the encoding of one row.
type row []byte

// of reports whether the row has that number; it may contain an older one.
func (r row) of(number int64) bool {
	return number > 0 && int64(binary.LittleEndian.Uint32(r)) == number
}

func (r row) setNumber(number int64) { binary.LittleEndian.PutUint32(r, uint32(number)) }

func (r row) value(column int) uint16 { return binary.LittleEndian.Uint16(r[stampSize+2*column:]) }

func (r row) set(column int, code uint16) {
	binary.LittleEndian.PutUint16(r[stampSize+2*column:], code)
}

// blank sets all values to unknown.
func (r row) blank() {
	for i := stampSize; i < len(r); i++ {
		r[i] = 0xff
	}
}

// consolidate returns one value for several values of a finer archive: their mean or
// maximum. Unknown values are ignored.
func consolidate(kind Kind, finer []uint16) uint16 {
	sum, top, n := 0.0, 0.0, 0
	for _, code := range finer {
		if v := decode(code); !math.IsNaN(v) {
			sum, top, n = sum+v, max(top, v), n+1
		}
	}
	switch {
	case n == 0:
		return unknown
	case kind == Max:
		return encode(top)
	}
	return encode(sum / float64(n))
}
