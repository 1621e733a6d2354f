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

// Rules can be counted over netlink, without nft, in well under a millisecond. That is
// enough to detect foreign changes. These functions use the network namespace of the
// calling thread.

// Messages of linux/netfilter/nf_tables.h.
const (
	getChains     = unix.NFNL_SUBSYS_NFTABLES<<8 | unix.NFT_MSG_GETCHAIN
	getRules      = unix.NFNL_SUBSYS_NFTABLES<<8 | unix.NFT_MSG_GETRULE
	getElements   = unix.NFNL_SUBSYS_NFTABLES<<8 | unix.NFT_MSG_GETSETELEM
	getTables     = unix.NFNL_SUBSYS_NFTABLES<<8 | unix.NFT_MSG_GETTABLE
	getGeneration = unix.NFNL_SUBSYS_NFTABLES<<8 | unix.NFT_MSG_GETGEN
)

// ErrChanging means that the rules changed during the dump.
var ErrChanging = errors.New("nf_tables: rules are being changed")

// Generation returns the number of committed transactions of all programs.
func Generation() (n uint32, err error) {
	err = talk(getGeneration, 0, unix.NFPROTO_UNSPEC, nil, func(body []byte) {
		if id := within(body, unix.NFTA_GEN_ID); len(id) == 4 {
			n = binary.BigEndian.Uint32(id)
		}
	})
	return n, err
}

// TableNames returns the names of all tables of all families.
func TableNames() (names map[string]bool, err error) {
	names = map[string]bool{}
	err = talk(getTables, unix.NLM_F_DUMP, unix.NFPROTO_UNSPEC, nil, func(body []byte) {
		names[word(within(body, unix.NFTA_TABLE_NAME))] = true
	})
	return names, err
}

// Stamp returns a checksum of the rules of tables. It changes when a rule is replaced, a
// chain gets another policy, or a table is disabled. It includes handles of the kernel,
// so it is not comparable across a reload. Rules with inline counters would change it
// with each packet.
func Stamp(tables []Table) (uint64, error) {
	var s sums
	for _, t := range tables {
		family := families[t.Family]
		err := talk(getTables, unix.NLM_F_DUMP, family, nil, func(body []byte) {
			if word(within(body, unix.NFTA_TABLE_NAME)) == t.Name {
				s.add([]byte{family}, within(body, unix.NFTA_TABLE_FLAGS))
			}
		})
		if err != nil {
			return 0, err
		}
		err = talk(getChains, unix.NLM_F_DUMP, family, nil, func(body []byte) {
			if word(within(body, unix.NFTA_CHAIN_TABLE)) == t.Name {
				s.add([]byte{family, 'c'}, within(body, unix.NFTA_CHAIN_HANDLE), within(body, unix.NFTA_CHAIN_POLICY))
			}
		})
		if err != nil {
			return 0, err
		}
		err = talk(getRules, unix.NLM_F_DUMP, family, attribute(unix.NFTA_RULE_TABLE, text(t.Name)), func(body []byte) {
			if word(within(body, unix.NFTA_RULE_TABLE)) == t.Name {
				chain, handle := within(body, unix.NFTA_RULE_CHAIN), within(body, unix.NFTA_RULE_HANDLE)
				s.add([]byte{family, 'r'}, chain, handle, within(body, unix.NFTA_RULE_EXPRESSIONS))
			}
		})
		if err != nil {
			return 0, err
		}
	}
	return s.sum, nil
}

// Shape returns a checksum of the chains and rules for packets of IPv4 and IPv6. Tables for which
// not returns true are left out. The checksum changes when a rule, a chain, a policy or a whole
// table is added, replaced or removed. Unlike Stamp it ignores
// counters in rules, which change with each packet.
func Shape(not func(table string) bool) (uint64, error) {
	var s sums
	for _, family := range []byte{unix.NFPROTO_IPV4, unix.NFPROTO_IPV6, unix.NFPROTO_INET} {
		if err := s.shape(family, not); err != nil {
			return 0, err
		}
	}
	return s.sum, nil
}

func (s *sums) shape(family byte, not func(table string) bool) error {
	var names []string
	err := talk(getTables, unix.NLM_F_DUMP, family, nil, func(body []byte) {
		name := word(within(body, unix.NFTA_TABLE_NAME))
		if not(name) {
			return
		}
		names = append(names, name)
		s.add([]byte{family, 't'}, []byte(name), within(body, tableHandle), within(body, unix.NFTA_TABLE_FLAGS))
	})
	if err != nil {
		return err
	}
	err = talk(getChains, unix.NLM_F_DUMP, family, nil, func(body []byte) {
		name := word(within(body, unix.NFTA_CHAIN_TABLE))
		if !not(name) {
			handle, policy := within(body, unix.NFTA_CHAIN_HANDLE), within(body, unix.NFTA_CHAIN_POLICY)
			s.add([]byte{family, 'c'}, []byte(name), handle, policy)
		}
	})
	for i := 0; i < len(names) && err == nil; i++ {
		of := attribute(unix.NFTA_RULE_TABLE, text(names[i]))
		err = talk(getRules, unix.NLM_F_DUMP, family, of, func(body []byte) {
			name, chain := within(body, unix.NFTA_RULE_TABLE), within(body, unix.NFTA_RULE_CHAIN)
			if word(name) == names[i] { // the kernel may ignore the filter
				parts := [][]byte{{family, 'r'}, name, chain, within(body, unix.NFTA_RULE_HANDLE)}
				s.add(append(parts, stateless(within(body, unix.NFTA_RULE_EXPRESSIONS))...)...)
			}
		})
	}
	return err
}

// stateless returns the expressions of a rule except those that packets change.
func stateless(list []byte) (out [][]byte) {
	eachOf(list, func(expression []byte) {
		switch word(within(expression, unix.NFTA_EXPR_NAME)) {
		case "counter", "quota", "last":
		default:
			out = append(out, expression)
		}
	})
	return out
}

// tableHandle is NFTA_TABLE_HANDLE, which x/sys lacks. No two tables have the same one.
const tableHandle = 4

// sums is a checksum of records in any order.
type sums struct{ sum uint64 }

func (s *sums) add(parts ...[]byte) {
	h := fnv.New64a()
	for _, p := range parts {
		_, _ = h.Write(p)
		_, _ = h.Write([]byte{0})
	}
	s.sum += h.Sum64()
}

// CountRules returns the number of rules of a table by chain. The map is empty if the
// table does not exist.
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

// CountElements returns the number of elements of a set or map, with a range as one
// element. It returns -1 if the set does not exist.
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

// Expiries returns the remaining time of each element of a set of marks. It returns nil
// if the set does not exist.
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

// Marks returns the elements of a set of marks. It returns nil if the set does not exist.
func Marks(id ID) (marks map[uint32]bool, err error) {
	err = again(func() error {
		marks = map[uint32]bool{}
		return eachElement(id, func(element []byte) {
			if key := within(within(element, unix.NFTA_SET_ELEM_KEY), unix.NFTA_DATA_VALUE); len(key) == 4 {
				marks[binary.NativeEndian.Uint32(key)] = true
			}
		})
	})
	if errors.Is(err, unix.ENOENT) {
		return nil, nil
	}
	return marks, err
}

// eachElement calls each with the attributes of every element of a set or map.
func eachElement(id ID, each func(element []byte)) error {
	which := attribute(unix.NFTA_SET_ELEM_LIST_TABLE, text(id.Table.Name))
	which = append(which, attribute(unix.NFTA_SET_ELEM_LIST_SET, text(id.Name))...)
	return talk(getElements, unix.NLM_F_DUMP, families[id.Family], which, func(body []byte) {
		eachOf(within(body, unix.NFTA_SET_ELEM_LIST_ELEMENTS), each)
	})
}

// eachOf calls each with the content of every attribute of a list.
func eachOf(list []byte, each func(element []byte)) {
	for len(list) >= 4 {
		size := int(binary.NativeEndian.Uint16(list))
		if size < 4 || size > len(list) {
			return
		}
		each(list[4:size])
		list = list[min((size+3)&^3, len(list)):]
	}
}

// talk sends a request to the kernel and calls each with the attributes of every message
// of the reply. They are valid until each returns.
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

// messages parses one datagram. ended is true if no more datagrams follow.
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
