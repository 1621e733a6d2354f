package store

import (
	"bytes"
	"compress/flate"
	"fmt"

	"github.com/sluicelb/sluice/core/farm"
)

// A piece is an item compressed separately: a farm, or a chunk of records. Pieces can be joined
// to a DEFLATE stream because each ends with a whole byte and does not refer to earlier data.
// So a revision reuses the pieces of the current configuration instead of encoding them again.

// pieceEnd turns a piece into a stream: it is an empty last block.
const pieceEnd = "\x01\x00\x00\xff\xff"

// pieceRecord returns the record of items, from which pieceOf returns the piece.
func pieceRecord(items ...[]byte) []byte {
	out := bytes.NewBuffer(make([]byte, sumSize, sumSize+len(items[0])/2))
	c := compress(out)
	defer c.end()
	for _, item := range items {
		c.write(item)
	}
	_ = c.w.Flush()
	out.WriteString(pieceEnd)
	return summed(out.Bytes())
}

// pieceOf returns the piece in a record, or nil.
func pieceOf(record []byte) []byte {
	if len(record) < sumSize || !bytes.HasSuffix(record[sumSize:], []byte(pieceEnd)) {
		return nil
	}
	return record[sumSize : len(record)-len(pieceEnd)]
}

// farmPiece returns the record of a farm, with the records of its zones.
func farmPiece(f *farm.Farm) ([]byte, error) {
	plain, err := plainFarm(f)
	if err != nil {
		return nil, err
	}
	return pieceRecord(plain), nil
}

// readFarm reads a record of farmPiece.
func readFarm(record []byte) (*farm.Farm, error) {
	if !intact(record) {
		return nil, errRecord
	}
	plain, err := expand(record[sumSize:], maxRecord)
	if err != nil {
		return nil, err
	}
	var f storedFarm
	if err := unpacking.Unmarshal(plain, &f); err != nil {
		return nil, fmt.Errorf("decode farm: %w", err)
	}
	return f.farm()
}

// chunkPiece returns the record of consecutive records of a zone.
func chunkPiece(records []farm.Record) ([]byte, error) {
	plain, err := plainItem(&zoneItem{Records: chunkOf(records)})
	if err != nil {
		return nil, err
	}
	return pieceRecord(plain), nil
}

// readChunk reads a record of chunkPiece with that number of records.
func readChunk(record []byte, records int) ([]*farm.Run, error) {
	if !intact(record) {
		return nil, errRecord
	}
	x := expanders.Get().(*expander)
	defer expanders.Put(x)
	plain, err := x.expand(record[sumSize:], maxRecord)
	if err != nil {
		return nil, err
	}
	var item zoneItem // it copies the texts
	if err := unpacking.Unmarshal(plain, &item); err != nil {
		return nil, fmt.Errorf("decode records: %w", err)
	}
	if item.Records == nil {
		return nil, errChunk
	}
	return item.Records.runs(records)
}

// manifestRecord returns the record of a manifest.
func manifestRecord(rev *Revision, m *manifest) ([]byte, error) {
	head, err := plainHead(rev)
	if err != nil {
		return nil, err
	}
	rest, err := packing.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("encode manifest: %w", err)
	}
	return pieceRecord(head, rest), nil
}

// readManifest reads a record of manifestRecord.
func readManifest(record []byte) (rev Revision, m manifest, err error) {
	if !intact(record) {
		return rev, m, errRecord
	}
	rest, err := expand(record[sumSize:], maxRecord)
	if err != nil {
		return rev, m, err
	}
	for _, into := range []any{&rev, &m} {
		if rest, err = unpacking.UnmarshalFirst(rest, into); err != nil {
			return rev, m, fmt.Errorf("decode manifest: %w", err)
		}
	}
	return rev, m, nil
}

// compressor writes a DEFLATE stream.
type compressor struct {
	out  *bytes.Buffer
	w    *flate.Writer
	open bool // data was written but not flushed
}

func compress(out *bytes.Buffer) *compressor {
	c := &compressor{out: out, w: writers.Get().(*flate.Writer)}
	c.w.Reset(out)
	return c
}

func (c *compressor) write(plain []byte) {
	_, _ = c.w.Write(plain) // a buffer does not fail
	c.open = true
}

// insert adds a piece to the stream. Later data does not refer to anything before it.
func (c *compressor) insert(piece []byte) {
	if c.open {
		_ = c.w.Flush()
		c.w.Reset(c.out)
		c.open = false
	}
	c.out.Write(piece)
}

func (c *compressor) close() { _ = c.w.Close() }

func (c *compressor) end() { writers.Put(c.w) }
