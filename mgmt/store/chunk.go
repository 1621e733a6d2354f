package store

import (
	"errors"
	"slices"

	"github.com/sluicelb/sluice/core/farm"
)

// chunk holds consecutive records of a zone in packed runs (farm.AppendPacked).
type chunk []string

var errChunk = errors.New("a chunk of records is damaged")

func chunkOf(records []farm.Record) (c chunk) {
	for run := range slices.Chunk(records, farm.PackedRun) {
		c = append(c, string(farm.AppendPacked(nil, run)))
	}
	return c
}

// appendTo appends the records of the chunk to a list. Their texts share the memory of the
// chunk.
func (c chunk) appendTo(records []farm.Record) ([]farm.Record, error) {
	for _, run := range c {
		var ok bool
		if records, ok = farm.Unpack(records, run); !ok {
			return nil, errChunk
		}
	}
	return records, nil
}

// into writes the records of the chunk, of which there must be as many as into has room for.
func (c chunk) into(records []farm.Record) error {
	all, err := c.appendTo(records[:0:len(records)])
	if err == nil && len(all) != len(records) {
		err = errChunk
	}
	return err
}
