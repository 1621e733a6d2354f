package nft

import (
	"encoding/binary"
	"errors"

	"golang.org/x/sys/unix"
)

// Count is the value of a counter.
type Count struct{ Packets, Bytes uint64 }

// Counts returns the counters of the elements of a set, by key in the format of the kernel,
// see Lookup. It returns nil if the set does not exist. 20,000 elements take some
// milliseconds; nft takes a hundred times as long.
func Counts(id ID) (counts map[string]Count, err error) {
	err = again(func() error {
		counts = map[string]Count{}
		return eachElement(id, func(element []byte) {
			key, counter := within(within(element, unix.NFTA_SET_ELEM_KEY), unix.NFTA_DATA_VALUE), within(within(element, unix.NFTA_SET_ELEM_EXPR), unix.NFTA_EXPR_DATA)
			packets, bytes := within(counter, unix.NFTA_COUNTER_PACKETS), within(counter, unix.NFTA_COUNTER_BYTES)
			if len(packets) == 8 && len(bytes) == 8 {
				counts[string(key)] = Count{binary.BigEndian.Uint64(packets), binary.BigEndian.Uint64(bytes)}
			}
		})
	})
	if errors.Is(err, unix.ENOENT) {
		return nil, nil
	}
	return counts, err
}

// dumps bounds the attempts to list a set that other transactions change meanwhile.
const dumps = 5

// again repeats a dump while other transactions interrupt it.
func again(dump func() error) (err error) {
	for range dumps {
		if err = dump(); !errors.Is(err, ErrChanging) {
			break
		}
	}
	return err
}
