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

// appendTo appends the records of the chunk to a list. Their texts share the chunk's memory.
func (c chunk) appendTo(records []farm.Record) ([]farm.Record, error) {
	for _, run := range c {
		var ok bool
		if records, ok = farm.Unpack(records, run); !ok {
			return nil, errChunk
		}
	}
	return records, nil
}

// runs returns the runs of the chunk, which must have that number of records.
func (c chunk) runs(records int) ([]*farm.Run, error) {
	runs := make([]*farm.Run, len(c))
	for i, text := range c {
		var ok bool
		if runs[i], ok = farm.ReadRun(text); !ok {
			return nil, errChunk
		}
		records -= runs[i].Len()
	}
	if records != 0 {
		return nil, errChunk
	}
	return runs, nil
}
