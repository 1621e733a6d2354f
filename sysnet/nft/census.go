package nft

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// What is in the kernel can be counted without nft in well under a millisecond,
// which is enough to see that somebody else was there. All of this asks in the
// network namespace of the calling thread.

// Messages of linux/netfilter/nf_tables.h.
const (
	getChains     = unix.NFNL_SUBSYS_NFTABLES<<8 | unix.NFT_MSG_GETCHAIN
	getRules      = unix.NFNL_SUBSYS_NFTABLES<<8 | unix.NFT_MSG_GETRULE
	getElements   = unix.NFNL_SUBSYS_NFTABLES<<8 | unix.NFT_MSG_GETSETELEM
	getTables     = unix.NFNL_SUBSYS_NFTABLES<<8 | unix.NFT_MSG_GETTABLE
	getGeneration = unix.NFNL_SUBSYS_NFTABLES<<8 | unix.NFT_MSG_GETGEN
)

// ErrChanging: the rules were changed while they were looked at.
var ErrChanging = errors.New("nf_tables: rules are being changed")

// Generation counts the transactions of everybody, those that were not refused.
func Generation() (n uint32, err error) {
	err = talk(getGeneration, 0, unix.NFPROTO_UNSPEC, nil, func(body []byte) {
		if id := within(body, unix.NFTA_GEN_ID); len(id) == 4 {
			n = binary.BigEndian.Uint32(id)
		}
	})
	return n, err
}

// TableNames are the names of all tables, of whatever family.
func TableNames() (names map[string]bool, err error) {
	names = map[string]bool{}
	err = talk(getTables, unix.NLM_F_DUMP, unix.NFPROTO_UNSPEC, nil, func(body []byte) {
		names[word(within(body, unix.NFTA_TABLE_NAME))] = true
	})
	return names, err
}

// Stamp tells the rules of tables apart: it is another one when a rule was put in
// place of one, a chain got another policy, or a table was switched off. It holds
// what the kernel numbers, so that it says nothing across a reload of the rules. Rules
// with counters of their own would differ each time.
func Stamp(tables []Table) (uint64, error) {
	var sum uint64
	add := func(parts ...[]byte) {
		h := fnv.New64a()
		for _, p := range parts {
			_, _ = h.Write(p)
			_, _ = h.Write([]byte{0})
		}
		sum += h.Sum64() // whatever the order
	}
	for _, t := range tables {
		family := families[t.Family]
		err := talk(getTables, unix.NLM_F_DUMP, family, nil, func(body []byte) {
			if word(within(body, unix.NFTA_TABLE_NAME)) == t.Name {
				add([]byte{family}, within(body, unix.NFTA_TABLE_FLAGS))
			}
		})
		if err != nil {
			return 0, err
		}
		err = talk(getChains, unix.NLM_F_DUMP, family, nil, func(body []byte) {
			if word(within(body, unix.NFTA_CHAIN_TABLE)) == t.Name {
				add([]byte{family, 'c'}, within(body, unix.NFTA_CHAIN_HANDLE), within(body, unix.NFTA_CHAIN_POLICY))
			}
		})
		if err != nil {
			return 0, err
		}
		err = talk(getRules, unix.NLM_F_DUMP, family, attribute(unix.NFTA_RULE_TABLE, text(t.Name)), func(body []byte) {
			if word(within(body, unix.NFTA_RULE_TABLE)) == t.Name {
				add([]byte{family, 'r'}, within(body, unix.NFTA_RULE_CHAIN), within(body, unix.NFTA_RULE_HANDLE), within(body, unix.NFTA_RULE_EXPRESSIONS))
			}
		})
		if err != nil {
			return 0, err
		}
	}
	return sum, nil
}

// CountRules counts the rules of a table by chain; there are no chains when it
// does not exist.
func CountRules(t Table) (map[string]int, error) {
	count := map[string]int{}
	family, name := families[t.Family], attribute(unix.NFTA_RULE_TABLE, text(t.Name))
	err := talk(getChains, unix.NLM_F_DUMP, family, nil, func(body []byte) {
		if word(within(body, unix.NFTA_CHAIN_TABLE)) == t.Name {
			count[word(within(body, unix.NFTA_CHAIN_NAME))] = 0
		}
	})
	if err != nil {
		return nil, err
	}
	err = talk(getRules, unix.NLM_F_DUMP, family, name, func(body []byte) {
		if word(within(body, unix.NFTA_RULE_TABLE)) == t.Name {
			count[word(within(body, unix.NFTA_RULE_CHAIN))]++
		}
	})
	return count, err
}

// CountElements counts the elements of a set or map, ranges once; -1 when it does
// not exist.
func CountElements(id ID) (n int, err error) {
	err = eachElement(id, func(element []byte) {
		flags := within(element, unix.NFTA_SET_ELEM_FLAGS)
		if len(flags) != 4 || binary.BigEndian.Uint32(flags)&unix.NFT_SET_ELEM_INTERVAL_END == 0 {
			n++
		}
	})
	if errors.Is(err, unix.ENOENT) {
		return -1, nil
	}
	return n, err
}

// Expiries returns how long each element of a set of marks still lasts. It returns nil
// if there is no such set.
func Expiries(id ID) (left map[uint32]time.Duration, err error) {
	left = map[uint32]time.Duration{}
	err = eachElement(id, func(element []byte) {
		key, expires := within(within(element, unix.NFTA_SET_ELEM_KEY), unix.NFTA_DATA_VALUE), within(element, unix.NFTA_SET_ELEM_EXPIRATION)
		if len(key) == 4 && len(expires) == 8 {
			left[binary.NativeEndian.Uint32(key)] = time.Duration(binary.BigEndian.Uint64(expires)) * time.Millisecond
		}
	})
	if errors.Is(err, unix.ENOENT) {
		return nil, nil
	}
	return left, err
}

// eachElement calls each with the attributes of every element of a set or map.
func eachElement(id ID, each func(element []byte)) error {
	which := attribute(unix.NFTA_SET_ELEM_LIST_TABLE, text(id.Table.Name))
	which = append(which, attribute(unix.NFTA_SET_ELEM_LIST_SET, text(id.Name))...)
	return talk(getElements, unix.NLM_F_DUMP, families[id.Family], which, func(body []byte) {
		for list := within(body, unix.NFTA_SET_ELEM_LIST_ELEMENTS); len(list) >= 4; {
			size := int(binary.NativeEndian.Uint16(list))
			if size < 4 || size > len(list) {
				return
			}
			each(list[4:size])
			list = list[min((size+3)&^3, len(list)):]
		}
	})
}

// talk asks the kernel and gives the attributes of each message of its answer,
// which are valid until each returns.
func talk(kind, flags uint16, family byte, attributes []byte, each func(body []byte)) error {
	fd, err := dial()
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	b := make([]byte, unix.SizeofNlMsghdr+genHeader, 64)
	binary.NativeEndian.PutUint16(b[4:], kind)
	binary.NativeEndian.PutUint16(b[6:], unix.NLM_F_REQUEST|flags)
	b[unix.SizeofNlMsghdr] = family
	b = append(b, attributes...)
	binary.NativeEndian.PutUint32(b, uint32(len(b)))
	if err := unix.Sendto(fd, b, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return os.NewSyscallError("sendto", err)
	}
	b = make([]byte, 64<<10)
	for {
		n, err := receive(fd, b)
		if err != nil {
			return err
		}
		if ended, err := messages(b[:n], each); ended || err != nil {
			return err
		}
		if flags&unix.NLM_F_DUMP == 0 {
			return nil
		}
	}
}

// messages goes through what came at once; ended says that nothing follows.
func messages(b []byte, each func(body []byte)) (ended bool, err error) {
	for len(b) >= unix.SizeofNlMsghdr {
		size := int(binary.NativeEndian.Uint32(b))
		if size < unix.SizeofNlMsghdr || size > len(b) {
			return true, errNoAnswer
		}
		if binary.NativeEndian.Uint16(b[6:])&unix.NLM_F_DUMP_INTR != 0 {
			return true, ErrChanging
		}
		switch body := b[unix.SizeofNlMsghdr:size]; binary.NativeEndian.Uint16(b[4:]) {
		case unix.NLMSG_DONE:
			return true, nil
		case unix.NLMSG_ERROR:
			if len(body) < 4 {
				return true, errNoAnswer
			}
			return true, fmt.Errorf("nf_tables: %w", unix.Errno(-int32(binary.NativeEndian.Uint32(body))))
		default:
			if len(body) < genHeader {
				return true, errNoAnswer
			}
			each(body[genHeader:])
		}
		b = b[min((size+3)&^3, len(b)):]
	}
	return false, nil
}

func text(s string) []byte { return append([]byte(s), 0) }

func word(b []byte) string { return strings.TrimRight(string(b), "\x00") }
