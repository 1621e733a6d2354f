package store

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// The index of a large farm is a list with one text per zone. For each chunk it has ID, number
// of records and size as unsigned varints, and the checksum.

var errIndex = errors.New("the index of a farm's records is damaged")

func indexRecord(zones [][]heldChunk) ([]byte, error) {
	lists := make([][]byte, len(zones))
	for i, chunks := range zones {
		for _, c := range chunks {
			list := binary.AppendUvarint(lists[i], uint64(c.id))
			list = binary.AppendUvarint(list, uint64(c.count))
			list = binary.AppendUvarint(list, uint64(c.size))
			lists[i] = append(list, c.sum[:]...)
		}
	}
	plain, err := packing.Marshal(lists)
	if err != nil {
		return nil, fmt.Errorf("encode the index of a farm's records: %w", err)
	}
	return pieceRecord(plain), nil
}

func readIndex(record []byte) ([][]heldChunk, error) {
	plain, err := expand(record[sumSize:], maxRecord)
	if err != nil {
		return nil, err
	}
	var lists [][]byte
	if err := unpacking.Unmarshal(plain, &lists); err != nil {
		return nil, fmt.Errorf("decode the index of a farm's records: %w", err)
	}
	zones := make([][]heldChunk, len(lists))
	for i, list := range lists {
		for len(list) > 0 {
			var fields [3]uint32
			for k := range fields {
				value, size := binary.Uvarint(list)
				if size <= 0 || value > maxRecord {
					return nil, errIndex
				}
				fields[k], list = uint32(value), list[size:]
			}
			if len(list) < sumSize {
				return nil, errIndex
			}
			zones[i] = append(zones[i], heldChunk{id: fields[0], count: fields[1], size: fields[2], sum: digestOf(list)})
			list = list[sumSize:]
		}
	}
	return zones, nil
}
