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

// A revision is a compressed sequence of CBOR items (RFC 8742) in a record: its head, its
// change without the farms, and these farms, one by one. A large farm is followed by items with
// the records of its zones, in chunks or as edits of the previous revision (zoneItem). Field
// names are the same as in JSON; fields written by a newer release are ignored. Revisions of
// layout 4 are JSON as a whole (layout4.go).

// storedFarm is a farm as stored in a revision. Notes are separate because engines do not get
// them, so the CBOR of a farm omits them.
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
			// Accepted data must be readable again, for any text.
			UTF8:             cbor.UTF8DecodeInvalid,
			MaxArrayElements: maxRecord,
		}.DecMode()
		if err != nil {
			panic(err) // start-up: the options are constant
		}
		return mode
	}()
)

// putRevision rewrites a revision, or writes one that is to be kept.
func putRevision(b *bolt.Bucket, e *entry) error {
	e.shorten(maxKeptDiff)
	record, err := sealRevision(e, nil)
	if err != nil {
		return err
	}
	return b.Put(numberKey(e.Number), record)
}

// unsealRevision reads a revision from its record.
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
	zone   int // 1 + position of the last zone in its farm; 0 before the first
}

// read reads a farm, or an item about the last farm, and returns the rest.
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

// isMap tells a zoneItem, which is a map, from a storedFarm, which is an array, by the first
// byte.
func isMap(plain []byte) bool { return plain[0]>>5 == 5 }

// take handles an item about the last farm.
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

// headReader reads the heads of revisions without expanding the rest of a whole configuration.
// The zero value is ready, and reading many heads is efficient.
type headReader struct {
	flate io.ReadCloser
}

func (h *headReader) read(record []byte, into *Revision) error {
	if !intact(record) {
		return errRecord
	}
	return h.head(bytes.NewReader(record[sumSize:]), maxRecord, into)
}

// head reads the head from compressed data; most limits the number of expanded bytes.
func (h *headReader) head(compressed *bytes.Reader, most int64, into *Revision) error {
	if h.flate == nil {
		h.flate = flate.NewReader(compressed)
	} else if err := h.flate.(flate.Resetter).Reset(compressed, nil); err != nil {
		return fmt.Errorf("decode revision: %w", err)
	}
	plain := bufio.NewReader(io.LimitReader(h.flate, most))
	first, _ := plain.Peek(1) // the decoder reports the error
	decode := unpacking.NewDecoder(plain).Decode
	if isJSON(first) {
		decode = func(any) error { return headOfJSON(plain, into) }
	}
	if err := decode(into); err != nil {
		return fmt.Errorf("decode revision: %w", err)
	}
	return nil
}
