package nft

import (
	"bytes"
	"errors"

	"golang.org/x/sys/unix"
)

// Key is the key of an element in the format of the kernel: parts of a concatenation are
// padded to four bytes. First and Last differ for a range.
type Key struct{ First, Last []byte }

// Keys returns the keys of a set or map. It returns nil if the set does not exist.
func Keys(id ID) (keys []Key, err error) {
	err = again(func() error {
		keys = nil
		return eachElement(id, func(element []byte) {
			k := Key{First: bytes.Clone(within(within(element, unix.NFTA_SET_ELEM_KEY), unix.NFTA_DATA_VALUE))}
			if k.Last = bytes.Clone(within(within(element, keyEnd), unix.NFTA_DATA_VALUE)); len(k.Last) == 0 {
				k.Last = k.First
			}
			keys = append(keys, k)
		})
	})
	if errors.Is(err, unix.ENOENT) {
		return nil, nil
	}
	return keys, err
}
