package nft

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Message types of linux/netfilter/nf_tables.h.
const (
	msgNewElement = unix.NFNL_SUBSYS_NFTABLES<<8 | unix.NFT_MSG_NEWSETELEM
	msgGetElement = unix.NFNL_SUBSYS_NFTABLES<<8 | unix.NFT_MSG_GETSETELEM
	genHeader     = 4 // struct nfgenmsg
	lookupTime    = time.Second
)

// families maps the names of address families to their numbers in the kernel.
var families = map[string]byte{"inet": unix.NFPROTO_INET, "netdev": unix.NFPROTO_NETDEV, "ip": unix.NFPROTO_IPV4, "ip6": unix.NFPROTO_IPV6}

// Lookup returns the value of one key of a map, both in the format of the kernel. Parts
// of a key are padded to four bytes in network byte order. Marks are in host byte order.
// It takes some microseconds for maps of any size; nft takes milliseconds. It uses the
// network namespace of the calling thread.
func Lookup(id ID, key []byte) (value []byte, ok bool, err error) {
	fd, err := dial()
	if err != nil {
		return nil, false, err
	}
	defer unix.Close(fd)
	if err := unix.Sendto(fd, lookupRequest(id, key), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return nil, false, os.NewSyscallError("sendto", err)
	}
	b := make([]byte, 4096)
	n, err := receive(fd, b)
	if err != nil {
		return nil, false, err
	}
	return lookupAnswer(b[:n])
}

// dial opens a NETLINK_NETFILTER socket with a receive timeout of lookupTime.
func dial() (fd int, err error) {
	fd, err = unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_NETFILTER)
	if err != nil {
		return -1, os.NewSyscallError("socket", err)
	}
	limit := unix.NsecToTimeval(int64(lookupTime))
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &limit); err != nil {
		unix.Close(fd)
		return -1, os.NewSyscallError("setsockopt", err)
	}
	return fd, nil
}

// receive returns the next message of the kernel.
func receive(fd int, b []byte) (n int, err error) {
	for {
		n, from, err := unix.Recvfrom(fd, b, 0)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return 0, os.NewSyscallError("recvfrom", err)
		case fromKernel(from):
			return n, nil
		}
	}
}

// fromKernel reports whether the kernel sent the message; any process may send to the
// socket.
func fromKernel(from unix.Sockaddr) bool {
	a, is := from.(*unix.SockaddrNetlink)
	return is && a.Pid == 0
}

// lookupRequest encodes NFT_MSG_GETSETELEM for one element:
//
//	struct nlmsghdr, struct nfgenmsg
//	table, set                                   texts
//	elements { element { key { value } } }
func lookupRequest(id ID, key []byte) []byte {
	b := make([]byte, unix.SizeofNlMsghdr+genHeader)
	binary.NativeEndian.PutUint16(b[4:], msgGetElement)
	binary.NativeEndian.PutUint16(b[6:], unix.NLM_F_REQUEST)
	b[unix.SizeofNlMsghdr] = families[id.Family]
	b = append(b, attribute(unix.NFTA_SET_ELEM_LIST_TABLE, append([]byte(id.Table.Name), 0))...)
	b = append(b, attribute(unix.NFTA_SET_ELEM_LIST_SET, append([]byte(id.Name), 0))...)
	element := nested(unix.NFTA_LIST_ELEM, nested(unix.NFTA_SET_ELEM_KEY, attribute(unix.NFTA_DATA_VALUE, key)))
	b = append(b, nested(unix.NFTA_SET_ELEM_LIST_ELEMENTS, element)...)
	binary.NativeEndian.PutUint32(b, uint32(len(b)))
	return b
}

func attribute(kind uint16, value []byte) []byte {
	b := binary.NativeEndian.AppendUint16(nil, uint16(4+len(value)))
	b = append(binary.NativeEndian.AppendUint16(b, kind), value...)
	for len(b)%4 != 0 {
		b = append(b, 0)
	}
	return b
}

func nested(kind uint16, value []byte) []byte { return attribute(kind|unix.NLA_F_NESTED, value) }

var errNoAnswer = errors.New("nf_tables: an answer that is none")

// lookupAnswer parses the reply with the value of one element.
func lookupAnswer(b []byte) ([]byte, bool, error) {
	if len(b) < unix.SizeofNlMsghdr+genHeader || int(binary.NativeEndian.Uint32(b)) > len(b) {
		return nil, false, errNoAnswer
	}
	switch binary.NativeEndian.Uint16(b[4:]) {
	case unix.NLMSG_ERROR:
		errno := unix.Errno(-int32(binary.NativeEndian.Uint32(b[unix.SizeofNlMsghdr:])))
		if errno == unix.ENOENT {
			return nil, false, nil
		}
		return nil, false, fmt.Errorf("nf_tables: %w", errno)
	case msgNewElement:
	default:
		return nil, false, errNoAnswer
	}
	b = b[unix.SizeofNlMsghdr+genHeader:]
	for _, kind := range []uint16{unix.NFTA_SET_ELEM_LIST_ELEMENTS, unix.NFTA_LIST_ELEM, unix.NFTA_SET_ELEM_DATA, unix.NFTA_DATA_VALUE} {
		if b = within(b, kind); b == nil {
			return nil, false, errNoAnswer
		}
	}
	return b, true, nil
}

// within returns the payload of the first attribute of the kind, or nil.
func within(b []byte, kind uint16) []byte {
	for len(b) >= 4 {
		size := int(binary.NativeEndian.Uint16(b))
		if size < 4 || size > len(b) {
			return nil
		}
		if binary.NativeEndian.Uint16(b[2:])&^(unix.NLA_F_NESTED|unix.NLA_F_NET_BYTEORDER) == kind {
			return b[4:size]
		}
		b = b[min((size+3)&^3, len(b)):]
	}
	return nil
}
