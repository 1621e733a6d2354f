package timeseries

import (
	"fmt"
	"io"
	"math"
	"os"
	"time"
)

// file holds the series of one object. It is not safe for concurrent use.
type file struct {
	path    string
	f       *os.File
	columns []column
	place   map[string]int // column of a series, by name
	last    int64          // last written row of the finest archive; 0: none
}

// open opens an existing file.
func open(path string) (*file, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	t := &file{path: path, f: f}
	if err := t.read(); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return t, nil
}

func (t *file) read() error {
	prefix := make([]byte, prefixSize)
	if _, err := t.f.ReadAt(prefix, 0); err != nil && err != io.EOF {
		return err
	}
	n, err := decodePrefix(prefix)
	if err != nil {
		return err
	}
	header := make([]byte, headerSize(n))
	if m, err := t.f.ReadAt(header, 0); err != nil && err != io.EOF {
		return err
	} else if m < len(header) {
		return fmt.Errorf("%w: it is too short", errDamaged)
	}
	columns, err := decodeHeader(header)
	if err != nil {
		return err
	}
	t.has(columns)
	return t.findLast()
}

// has sets the columns after reading or creating the file.
func (t *file) has(columns []column) {
	t.columns, t.place = columns, map[string]int{}
	for i, c := range columns {
		t.place[c.name] = i
	}
}

// create creates a file with the columns and then renames it to path. It copies the rows
// of older, if not nil.
func create(path string, columns []column, older *file) (*file, error) {
	f, err := os.OpenFile(path+".new", os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	t := &file{path: path, f: f}
	t.has(columns)
	err = t.fill(older)
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		_ = f.Close()
		_ = os.Remove(path + ".new")
		return nil, err
	}
	return t, nil
}

func (t *file) fill(older *file) error {
	if _, err := t.f.WriteAt(encodeHeader(t.columns), 0); err != nil {
		return err
	}
	if err := t.f.Truncate(t.offset(len(Resolutions), 0)); err != nil {
		return err
	}
	if older == nil {
		return nil
	}
	t.last = older.last
	for archive, r := range Resolutions {
		from, err := older.rows(archive, 0, r.Rows)
		if err != nil {
			return err
		}
		if err := t.copyRows(archive, from); err != nil {
			return err
		}
	}
	return nil
}

// copyRows writes rows of a file with fewer columns.
func (t *file) copyRows(archive int, from []row) error {
	size := rowSize(len(t.columns))
	out := make([]byte, len(from)*size)
	for i, r := range from {
		to := row(out[i*size:][:size])
		to.blank()
		copy(to, r)
	}
	_, err := t.f.WriteAt(out, t.offset(archive, 0))
	return err
}

// offset returns the offset of a row of an archive. The one after the last archive is the
// end.
func (t *file) offset(archive, index int) int64 {
	for _, r := range Resolutions[:archive] {
		index += r.Rows
	}
	return headerSize(len(t.columns)) + int64(index)*int64(rowSize(len(t.columns)))
}

// rows reads n rows from index on, wrapping around at the end.
func (t *file) rows(archive, index, n int) ([]row, error) {
	size, all := rowSize(len(t.columns)), Resolutions[archive].Rows
	buf := make([]byte, n*size) // not cached, because a thousand files may be open
	head := min(n, all-index)
	for _, part := range []struct {
		index int
		to    []byte
	}{{index, buf[:head*size]}, {0, buf[head*size:]}} {
		// Unwritten rows read as zeros or are missing; both stay zeros.
		if _, err := t.f.ReadAt(part.to, t.offset(archive, part.index)); err != nil && err != io.EOF {
			return nil, err
		}
	}
	out := make([]row, n)
	for i := range out {
		out[i] = buf[i*size:][:size]
	}
	return out, nil
}

// findLast finds the newest row of the finest archive.
func (t *file) findLast() error {
	r := Resolutions[0]
	all, err := t.rows(0, 0, r.Rows)
	if err != nil {
		return err
	}
	for i, row := range all {
		n := int64(uint32(row[0]) | uint32(row[1])<<8 | uint32(row[2])<<16 | uint32(row[3])<<24)
		if n%int64(r.Rows) == int64(i) {
			t.last = max(t.last, n)
		}
	}
	return nil
}

// write writes the values of a time, after the rows of coarser archives that have ended.
func (t *file) write(at time.Time, values []Value) error {
	number := Resolutions[0].number(at)
	if t.last != 0 && number != t.last {
		if err := t.consolidate(Resolutions[0].at(t.last), at); err != nil {
			return err
		}
	}
	size := rowSize(len(t.columns))
	r := row(make([]byte, size))
	r.blank()
	r.setNumber(number)
	for _, v := range values {
		r.set(t.place[v.Series], encode(v.Value))
	}
	t.last = number
	_, err := t.f.WriteAt(r, t.offset(0, int(number%int64(Resolutions[0].Rows))))
	return err
}

// consolidate writes the rows of coarser archives that contain last and have ended by
// now.
func (t *file) consolidate(last, now time.Time) error {
	for archive := 1; archive < len(Resolutions); archive++ {
		coarse, fine := Resolutions[archive], Resolutions[archive-1]
		number := coarse.number(last)
		if number == coarse.number(now) {
			return nil
		}
		if err := t.consolidateRow(archive, number, int(coarse.Step/fine.Step)); err != nil {
			return err
		}
	}
	return nil
}

// consolidateRow writes one row from n rows of the finer archive.
func (t *file) consolidateRow(archive int, number int64, n int) error {
	fine := Resolutions[archive-1]
	first := number * int64(n)
	finer, err := t.rows(archive-1, int(first%int64(fine.Rows)), n)
	if err != nil {
		return err
	}
	out := row(make([]byte, rowSize(len(t.columns))))
	out.setNumber(number)
	codes := make([]uint16, 0, n)
	for column, c := range t.columns {
		codes = codes[:0]
		for i, r := range finer {
			if number := first + int64(i); r.of(number) && c.has(fine.end(number)) {
				codes = append(codes, r.value(column))
			}
		}
		out.set(column, consolidate(c.kind, codes))
	}
	_, err = t.f.WriteAt(out, t.offset(archive, int(number%int64(Resolutions[archive].Rows))))
	return err
}

// points returns the values of series, one for each row from first to last; NaN means
// unknown.
func (t *file) points(archive int, series []string, first, last int64) ([][]float64, error) {
	r := Resolutions[archive]
	n := int(last - first + 1)
	read, err := t.rows(archive, int(first%int64(r.Rows)), n)
	if err != nil {
		return nil, err
	}
	out := make([][]float64, len(series))
	for s, name := range series {
		out[s] = make([]float64, n)
		place, ok := t.place[name]
		for i := range out[s] {
			out[s][i] = math.NaN()
			if number := first + int64(i); ok && read[i].of(number) && t.columns[place].has(r.end(number)) {
				out[s][i] = decode(read[i].value(place))
			}
		}
	}
	return out, nil
}
