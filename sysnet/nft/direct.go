package nft

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// nft reads the names of all chains and sets before it changes one, which takes ten
// milliseconds for a thousand farms. So Apply and Try send small batches to the kernel
// themselves, if they understand each step. Everything else is left to nft, as well as
// batches that the kernel refuses, because nft tells which line is at fault.

// maxDirect bounds such a batch in bytes. The kernel takes a batch as one message.
const maxDirect = 96 << 10

var (
	// errIndirect means that a step is left to nft.
	errIndirect = errors.New("only nft knows how to do this")
	// errUnanswered means that the kernel may have committed a transaction.
	errUnanswered = errors.New("nf_tables: it is not known whether rules were changed")
)

// encoder collects the messages of a batch.
type encoder struct {
	messages [][]byte
	size     int
	sets     uint32 // number of anonymous sets
}

// message adds a message about an object of a table.
func (e *encoder) message(kind, flags uint16, t Table, attributes ...[]byte) {
	b := header(unix.NFNL_SUBSYS_NFTABLES<<8|kind, flags, families[t.Family], 0)
	for _, a := range attributes {
		b = append(b, a...)
	}
	e.messages, e.size = append(e.messages, b), e.size+len(b)
}

// header returns struct nlmsghdr and struct nfgenmsg, without length and sequence number.
func header(kind, flags uint16, family byte, resource uint16) []byte {
	b := make([]byte, unix.SizeofNlMsghdr+genHeader)
	binary.NativeEndian.PutUint16(b[4:], kind)
	binary.NativeEndian.PutUint16(b[6:], unix.NLM_F_REQUEST|flags)
	b[unix.SizeofNlMsghdr] = family
	binary.BigEndian.PutUint16(b[unix.SizeofNlMsghdr+2:], resource)
	return b
}

// encode returns the messages of the batch, or errIndirect.
func (b *Batch) encode() ([][]byte, error) {
	e := &encoder{}
	for _, step := range b.steps {
		if step == nil {
			return nil, errIndirect
		}
		if err := step(e); err != nil {
			return nil, err
		}
		if e.size > maxDirect {
			return nil, errIndirect
		}
	}
	return e.messages, nil
}

// Direct reports whether the batch is sent to the kernel without the program nft.
func (b *Batch) Direct() bool {
	_, err := b.encode()
	return err == nil
}

// transact sends messages as one transaction. Without commit the kernel only checks them. An
// error means that nothing was changed, unless it is errUnanswered.
func transact(messages [][]byte, commit bool) error {
	fd, err := dial()
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	last := messages[len(messages)-1]
	binary.NativeEndian.PutUint16(last[6:], binary.NativeEndian.Uint16(last[6:])|unix.NLM_F_ACK)
	all := append([][]byte{header(unix.NFNL_MSG_BATCH_BEGIN, 0, unix.AF_UNSPEC, unix.NFNL_SUBSYS_NFTABLES)}, messages...)
	if commit {
		all = append(all, header(unix.NFNL_MSG_BATCH_END, 0, unix.AF_UNSPEC, unix.NFNL_SUBSYS_NFTABLES))
	}
	var b []byte
	for i, m := range all {
		binary.NativeEndian.PutUint32(m, uint32(len(m)))
		binary.NativeEndian.PutUint32(m[8:], uint32(i))
		b = append(b, m...)
	}
	if err := unix.Sendto(fd, b, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return os.NewSyscallError("sendto", err)
	}
	answer := make([]byte, unix.SizeofNlMsghdr+4)
	n, err := receive(fd, answer)
	if err != nil {
		return fmt.Errorf("%w: %w", errUnanswered, err)
	}
	// Errors come in the order of the messages, one of the commit before them.
	if n < len(answer) || binary.NativeEndian.Uint16(answer[4:]) != unix.NLMSG_ERROR {
		return errUnanswered
	}
	if code := int32(binary.NativeEndian.Uint32(answer[unix.SizeofNlMsghdr:])); code != 0 {
		return fmt.Errorf("nf_tables: %w", unix.Errno(-code))
	}
	return nil
}

func big32(n uint32) []byte    { return binary.BigEndian.AppendUint32(nil, n) }
func native32(n uint32) []byte { return binary.NativeEndian.AppendUint32(nil, n) }
