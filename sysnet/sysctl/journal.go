package sysctl

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// A journal has two slots, written alternately:
//
//	0   magic, 8 bytes
//	8   number, 64 bits; the higher one is current
//	16  length of the body, 32 bits
//	20  SHA-256 of number, length and body
//	52  body, JSON
const (
	slotSize  = 256 << 10
	slotHead  = 52
	slotMagic = "SLUSYSC1"
)

type journal struct {
	file   *os.File
	number uint64
	scope  scope
}

// scope identifies one boot and one network namespace, in which values are valid.
type scope struct {
	Boot      string `json:"boot"`
	Namespace uint64 `json:"namespace"`
}

type record struct {
	Scope scope  `json:"place"`
	Held  []held `json:"held"`
}

func openJournal(file *os.File) (*journal, []held, error) {
	j := &journal{file: file}
	var err error
	if j.scope, err = here(); err != nil {
		return nil, nil, err
	}
	var latest record
	for i := range int64(2) {
		b := make([]byte, slotSize)
		n, err := file.ReadAt(b, i*slotSize)
		if err != nil && err != io.EOF {
			return nil, nil, fmt.Errorf("journal of sysctls: %w", err)
		}
		number, r, ok := parseSlot(b[:n])
		if ok && number > j.number {
			j.number, latest = number, r
		}
	}
	if latest.Scope != j.scope {
		return j, nil, nil // another boot or namespace: none of these values are set
	}
	for _, h := range latest.Held {
		if err := h.check(); err != nil {
			return nil, nil, fmt.Errorf("journal of sysctls: %w", err)
		}
	}
	return j, latest.Held, nil
}

// check verifies that a journal entry contains only names and values of the list.
func (h *held) check() error {
	if err := check(h.Name, h.Old); err != nil {
		return err
	}
	for name, v := range h.Carried {
		if err := check(name, v); err != nil {
			return err
		}
	}
	return check(h.Name, h.Set)
}

func parseSlot(b []byte) (number uint64, r record, ok bool) {
	if len(b) < slotHead || string(b[:8]) != slotMagic {
		return 0, r, false
	}
	number = binary.LittleEndian.Uint64(b[8:])
	size := binary.LittleEndian.Uint32(b[16:])
	if int(size) > len(b)-slotHead {
		return 0, r, false
	}
	body := b[slotHead : slotHead+int(size)]
	if sum := slotSum(b[8:20], body); !bytes.Equal(sum[:], b[20:slotHead]) {
		return 0, r, false
	}
	return number, r, json.Unmarshal(body, &r) == nil
}

func slotSum(head, body []byte) [sha256.Size]byte {
	return sha256.Sum256(append(bytes.Clone(head), body...))
}

func (j *journal) write(all []held) error {
	body, err := json.Marshal(record{j.scope, all})
	if err != nil {
		return fmt.Errorf("journal of sysctls: %w", err)
	}
	if len(body) > slotSize-slotHead {
		return fmt.Errorf("journal of sysctls: %d bytes are more than it holds", len(body))
	}
	b := make([]byte, slotHead, slotHead+len(body))
	copy(b, slotMagic)
	binary.LittleEndian.PutUint64(b[8:], j.number+1)
	binary.LittleEndian.PutUint32(b[16:], uint32(len(body)))
	sum := slotSum(b[8:20], body)
	copy(b[20:], sum[:])
	b = append(b, body...)
	if _, err := j.file.WriteAt(b, int64((j.number+1)%2)*slotSize); err != nil {
		return fmt.Errorf("journal of sysctls: %w", err)
	}
	if err := j.file.Sync(); err != nil {
		return fmt.Errorf("journal of sysctls: %w", err)
	}
	j.number++
	return nil
}

// here returns the current boot and network namespace. The namespace is identified by its
// cookie, which is unique per boot, or by its inode on kernels before 5.14.
func here() (scope, error) {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return scope{}, fmt.Errorf("journal of sysctls: %w", err)
	}
	p := scope{Boot: strings.TrimSpace(string(boot))}
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	if err == nil {
		defer unix.Close(fd)
		if p.Namespace, err = unix.GetsockoptUint64(fd, unix.SOL_SOCKET, unix.SO_NETNS_COOKIE); err == nil {
			return p, nil
		}
	}
	var st unix.Stat_t
	if err := unix.Stat("/proc/thread-self/ns/net", &st); err != nil {
		return scope{}, fmt.Errorf("journal of sysctls: network namespace: %w", err)
	}
	p.Namespace = st.Ino
	return p, nil
}
