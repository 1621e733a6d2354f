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
// describes it, what it changes but the farms, and then those farms, one by one. Farms
// are by far the most of it, and CBOR is read three times as fast as JSON. Its names are
// those JSON would have; what a newer release wrote beyond them is passed over. Revisions of
// layout 4 are JSON as a whole (layout4.go).

// storedFarm is a farm as it lies in a revision. Notes are for people: no engine gets them
// in its snapshot, so that the CBOR of a farm is without.
type storedFarm struct {
	_    struct{} `cbor:",toarray"`
	Farm *farm.Farm
	Said farm.Notes
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
	record, err := new(pieces).seal(e)
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
	for len(rest) > 0 {
		var f storedFarm
		if rest, err = unpacking.UnmarshalFirst(rest, &f); err != nil {
			return fmt.Errorf("decode farm of revision: %w", err)
		}
		if f.Farm == nil {
			return fmt.Errorf("decode farm of revision: %w", io.ErrUnexpectedEOF)
		}
		f.Farm.Say(f.Said)
		e.Change.Farms = append(e.Change.Farms, *f.Farm)
	}
	return nil
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
