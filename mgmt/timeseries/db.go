package timeseries

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sluicelb/sluice/mgmt/disk"
)

// Value is the value of a series at one time.
type Value struct {
	// Series is its name, at most MaxName bytes, e.g. "requests" or "backend 7 errors".
	Series string
	Kind   Kind
	Value  float64 // not negative; NaN: unknown
}

// ErrNone means that an object has no values yet.
var ErrNone = errors.New("there are no numbers of it yet")

const suffix = ".numbers"

// DB is a directory of files. It is safe for concurrent use.
type DB struct {
	dir string
	log *slog.Logger

	mu      sync.Mutex
	objects map[string]*object
}

type object struct {
	mu      sync.Mutex
	file    *file // nil: closed
	used    bool  // since the last CloseIdle
	failing bool  // a write error was logged
}

// Open returns the DB of a directory, which it creates if necessary.
func Open(dir string, log *slog.Logger) (*DB, error) {
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, disk.Explain(dir, fmt.Errorf("make the directory for numbers over time: %w", err))
	}
	return &DB{dir: dir, log: log, objects: map[string]*object{}}, nil
}

// Close closes the files.
func (d *DB) Close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, o := range d.objects {
		o.close()
	}
	clear(d.objects)
}

func (o *object) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closeFile()
}

func (o *object) closeIdle() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.used {
		o.closeFile()
	}
	o.used = false
}

func (o *object) closeFile() {
	if o.file != nil {
		_ = o.file.f.Close()
		o.file = nil
	}
}

// CloseIdle closes files that were neither written nor read since its last call. Files of
// deleted farms thus take no descriptor.
func (d *DB) CloseIdle() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, o := range d.objects {
		o.closeIdle()
	}
}

func (d *DB) object(name string) *object {
	d.mu.Lock()
	defer d.mu.Unlock()
	o := d.objects[name]
	if o == nil {
		o = &object{}
		d.objects[name] = o
	}
	return o
}

func (d *DB) path(name string) string { return filepath.Join(d.dir, name+suffix) }

// Write stores all values of an object at a time. name is part of the path. The first of
// several consecutive errors is logged, and the recovery.
func (d *DB) Write(name string, at time.Time, values []Value) {
	o := d.object(name)
	o.mu.Lock()
	defer o.mu.Unlock()
	err := d.write(o, name, at, values)
	switch {
	case err != nil && !o.failing:
		d.log.Warn("numbers over time are not kept", "of", name, "error", disk.Explain(d.dir, err))
	case err == nil && o.failing:
		d.log.Info("numbers over time are kept again", "of", name)
	}
	o.failing = err != nil
}

func (d *DB) write(o *object, name string, at time.Time, values []Value) error {
	if err := d.open(o, name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	columns, changed, same := fit(o.file, at, values)
	if changed {
		if err := d.change(o, name, columns, same); err != nil {
			return err
		}
	}
	return o.file.write(at, values)
}

// change changes the columns of a file. If their number stays the same, the rows stay in
// place.
func (d *DB) change(o *object, name string, columns []column, same bool) error {
	if same {
		if _, err := o.file.f.WriteAt(encodeHeader(columns), 0); err != nil {
			return err
		}
		o.file.has(columns)
		return nil
	}
	made, err := create(d.path(name), columns, o.file)
	if err != nil {
		return err
	}
	if o.file != nil {
		_ = o.file.f.Close()
	}
	o.file = made
	return nil
}

// open opens the file of an object if necessary. A damaged file is renamed.
func (d *DB) open(o *object, name string) error {
	o.used = true
	if o.file != nil {
		return nil
	}
	f, err := open(d.path(name))
	if errors.Is(err, errDamaged) {
		aside := d.path(name) + ".damaged"
		d.log.Warn("numbers over time are begun anew", "of", name, "error", err, "kept as", aside)
		if err := os.Rename(d.path(name), aside); err != nil {
			return err
		}
		return fs.ErrNotExist
	}
	if err != nil {
		return err
	}
	o.file = f
	return nil
}

// fit assigns columns to values: existing columns, columns of series that ended, and new
// ones. The result same is true if the number of columns stays the same.
func fit(f *file, at time.Time, values []Value) (columns []column, changed, same bool) {
	place := map[string]int{}
	if f != nil {
		columns, place = f.columns, f.place
	}
	var missing []Value
	used := map[string]bool{}
	for _, v := range values {
		used[v.Series] = true
		if _, ok := place[v.Series]; !ok {
			missing = append(missing, v)
		}
	}
	if f != nil && len(missing) == 0 {
		return columns, false, true
	}
	had := len(columns)
	columns = append([]column{}, columns...)
	free := 0
	for _, v := range missing {
		for free < had && used[columns[free].name] {
			free++
		}
		c := column{name: v.Series, kind: v.Kind, since: Resolutions[0].at(Resolutions[0].number(at)).Unix()}
		if free == had {
			columns = append(columns, c)
			continue
		}
		columns[free] = c
		free++
	}
	return columns, true, f != nil && len(columns) == had
}

// Points are the values of several series, one every Step from Start on.
type Points struct {
	Start time.Time
	Step  time.Duration
	// Values are in the order of the requested series; NaN means unknown.
	Values [][]float64
}

// Read returns series of an object between two times, in the finest archive that covers
// them at now. It returns ErrNone if the object has no file.
func (d *DB) Read(name string, from, to, now time.Time, series ...string) (Points, error) {
	o := d.object(name)
	o.mu.Lock()
	defer o.mu.Unlock()
	switch err := d.open(o, name); {
	case errors.Is(err, fs.ErrNotExist):
		return Points{}, ErrNone
	case err != nil:
		return Points{}, disk.Explain(d.dir, err)
	}
	archive, first, last := rows(from, to, now)
	r := Resolutions[archive]
	values, err := o.file.points(archive, series, first, last)
	if err != nil {
		return Points{}, disk.Explain(d.dir, err)
	}
	if last > first && last == r.number(now) {
		values = unended(values)
	}
	return Points{Start: r.at(first), Step: r.Step, Values: values}, nil
}

// Unknown returns the points that Read returns for an object without known values.
func Unknown(from, to, now time.Time, series int) Points {
	archive, first, last := rows(from, to, now)
	r := Resolutions[archive]
	values := make([][]float64, series)
	for i := range values {
		values[i] = slices.Repeat([]float64{math.NaN()}, int(last-first)+1)
	}
	if last > first && last == r.number(now) {
		values = unended(values)
	}
	return Points{Start: r.at(first), Step: r.Step, Values: values}
}

// rows returns the finest archive that covers a period at now, and the numbers of its
// first and last rows in the period.
func rows(from, to, now time.Time) (archive int, first, last int64) {
	archive = finest(from, now)
	r := Resolutions[archive]
	first, last = r.number(from), r.number(to)
	last = max(first, last)
	if last-first >= int64(r.Rows) {
		first = last - int64(r.Rows) + 1
	}
	first = max(first, 1)
	return archive, first, max(first, last)
}

// unended removes the last row if all its values are unknown, because its period has not
// ended.
func unended(values [][]float64) [][]float64 {
	for _, of := range values {
		if !math.IsNaN(of[len(of)-1]) {
			return values
		}
	}
	for i, of := range values {
		values[i] = of[:len(of)-1]
	}
	return values
}

// finest returns the finest archive that goes back to a time.
func finest(from, now time.Time) int {
	for i, r := range Resolutions {
		if now.Sub(from) <= r.Keeps() {
			return i
		}
	}
	return len(Resolutions) - 1
}

// Sweep deletes the files of objects that no longer exist, a week after their last write.
// Until then the deletion of a farm may be undone.
func (d *DB) Sweep(now time.Time, kept func(name string) bool) {
	entries, err := os.ReadDir(d.dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), suffix)
		info, err := e.Info()
		if !ok || err != nil || kept(name) || now.Sub(info.ModTime()) < sweepAge {
			continue
		}
		d.mu.Lock()
		if o := d.objects[name]; o != nil {
			o.close()
			delete(d.objects, name)
		}
		_ = os.Remove(d.path(name))
		d.mu.Unlock()
	}
}

const sweepAge = 7 * 24 * time.Hour
