package store

import (
	"bufio"
	"bytes"
	"compress/flate"
	"encoding/json"
	"fmt"
	"io"

	"github.com/fxamacker/cbor/v2"
	bolt "go.etcd.io/bbolt"

	"github.com/sluicelb/sluice/core/farm"
)

// A revision is, compressed in its record, a sequence of CBOR items (RFC 8742): what
// describes it, what it changes but the farms, and then those farms, one by one. After a
// large farm there are items with the records of its zones, in chunks or as edits of the
// revision before (zoneItem). Names of fields are those JSON would have; fields that a newer
// release wrote are ignored. Revisions of layout 4 are JSON as a whole (layout4.go).

// storedFarm is a farm as it lies in a revision. Notes are for people: no engine gets them
// in its snapshot, so that the CBOR of a farm is without.
type storedFarm struct {
	_    struct{} `cbor:",toarray"`
	Farm *farm.Farm
	Said farm.Notes
}

// farm returns the farm with its notes.
func (s *storedFarm) farm() (*farm.Farm, error) {
	if s.Farm == nil {
		return nil, io.ErrUnexpectedEOF
	}
	s.Farm.Say(s.Said)
	return s.Farm, nil
}

var (
	packing = func() cbor.EncMode {
		mode, err := cbor.EncOptions{
			BinaryMarshaler: cbor.BinaryMarshalerByteString,
			Time:            cbor.TimeRFC3339NanoUTC,
		}.EncMode()
		if err != nil {
			panic(err) // start-up: the options are constant
		}
		return mode
	}()
	unpacking = func() cbor.DecMode {
		mode, err := cbor.DecOptions{
			// What was taken once must be read again, whatever its texts are.
			UTF8:             cbor.UTF8DecodeInvalid,
			MaxArrayElements: maxRecord,
		}.DecMode()
		if err != nil {
			panic(err) // start-up: the options are constant
		}
		return mode
	}()
)

// putRevision writes one under its number that was written before, or is to be kept.
func putRevision(b *bolt.Bucket, e *entry) error {
	e.shorten(maxKeptDiff)
	record, err := sealRevision(e, nil)
	if err != nil {
		return err
	}
	return b.Put(numberKey(e.Number), record)
}

// unsealRevision reads one from its record.
func unsealRevision(record []byte, e *entry) error {
	if !intact(record) {
		return errRecord
	}
	rest, err := expand(record[sumSize:], maxRecord)
	if err != nil {
		return err
	}
	if isJSON(rest) {
		if err := json.Unmarshal(rest, e); err != nil {
			return fmt.Errorf("decode revision: %w", err)
		}
		return nil
	}
	for _, into := range []any{&e.Revision, &e.Change} {
		if rest, err = unpacking.UnmarshalFirst(rest, into); err != nil {
			return fmt.Errorf("decode revision: %w", err)
		}
	}
	items := itemReader{change: &e.Change}
	for len(rest) > 0 {
		if rest, err = items.read(rest); err != nil {
			return fmt.Errorf("decode farm of revision: %w", err)
		}
	}
	return nil
}

// itemReader reads the items of a revision that follow its change.
type itemReader struct {
	change *change
	zone   int // 1 + position of the last one in its farm; 0 before the first
}

// read reads a farm, or an item about the last one, and returns what follows.
func (r *itemReader) read(rest []byte) ([]byte, error) {
	if !isMap(rest) {
		var stored storedFarm
		rest, err := unpacking.UnmarshalFirst(rest, &stored)
		if err != nil {
			return nil, err
		}
		f, err := stored.farm()
		if err != nil {
			return nil, err
		}
		r.change.Farms, r.zone = append(r.change.Farms, *f), 0
		return rest, nil
	}
	var item zoneItem
	rest, err := unpacking.UnmarshalFirst(rest, &item)
	if err != nil {
		return nil, err
	}
	return rest, r.take(&item)
}

// isMap tells a zoneItem by its first byte from a storedFarm, which is an array.
func isMap(plain []byte) bool { return plain[0]>>5 == 5 }

// take takes an item about the last farm.
func (r *itemReader) take(item *zoneItem) error {
	if item.Zone != 0 {
		r.zone = int(item.Zone)
	}
	if len(r.change.Farms) == 0 || r.zone == 0 {
		return errEdit
	}
	f := &r.change.Farms[len(r.change.Farms)-1]
	if r.zone > len(zonesOf(f)) {
		return errEdit
	}
	if item.Base != 0 {
		e, err := item.edit()
		if err != nil {
			return err
		}
		r.change.edit(f.ID, e)
		return nil
	}
	if item.Records == nil {
		return nil
	}
	zone := &zonesOf(f)[r.zone-1]
	var err error
	zone.Records, err = item.Records.appendTo(zone.Records)
	return err
}

// headReader reads what describes revisions: of those that hold a whole configuration no
// more is expanded than that. Its zero value is ready; it is no slower for many than for
// one.
type headReader struct {
	flate io.ReadCloser
}

func (h *headReader) read(record []byte, into *Revision) error {
	if !intact(record) {
		return errRecord
	}
	return h.head(bytes.NewReader(record[sumSize:]), maxRecord, into)
}

// head reads it from what was compressed, of which so many bytes are expanded at most.
func (h *headReader) head(compressed *bytes.Reader, most int64, into *Revision) error {
	if h.flate == nil {
		h.flate = flate.NewReader(compressed)
	} else if err := h.flate.(flate.Resetter).Reset(compressed, nil); err != nil {
		return fmt.Errorf("decode revision: %w", err)
	}
	plain := bufio.NewReader(io.LimitReader(h.flate, most))
	first, _ := plain.Peek(1) // what was wrong is said again when it is read
	decode := unpacking.NewDecoder(plain).Decode
	if isJSON(first) {
		decode = func(any) error { return headOfJSON(plain, into) }
	}
	if err := decode(into); err != nil {
		return fmt.Errorf("decode revision: %w", err)
	}
	return nil
}
