package certs

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/sluicelb/sluice/mgmt/disk"
)

// NodeKeyFile is the node key in the data directory: 32 random bytes, readable only by the
// owner. It decrypts every private key in the store; neither is of use without the other.
const NodeKeyFile = "node.key"

const nodeKeySize = 32

// Format of a sealed key:
//
//	0   version, 1
//	1   node key ID: the first 8 bytes of a hash of the node key
//	9   nonce, 12 bytes
//	21  AES-256-GCM of the key (PKCS #8), authenticated with its name
const (
	sealVersion = 1
	idSize      = 8
	sealHead    = 1 + idSize
)

// nodeKey seals private keys. Every call retries an unusable file, so that no restart is
// needed after a repair.
type nodeKey struct {
	path string

	mu   sync.Mutex
	aead cipher.AEAD // nil until the file is read
	id   [idSize]byte
	// others holds keys of other nodes that were needed, by ID.
	others map[[idSize]byte]cipher.AEAD
}

// openNodeKey returns the node key of a data directory. It creates one if there is none,
// and sets made. After an error, the nodeKey tries again later.
func openNodeKey(dir string) (n *nodeKey, made bool, err error) {
	n = &nodeKey{path: filepath.Join(dir, NodeKeyFile)}
	if _, err := os.Lstat(n.path); errors.Is(err, fs.ErrNotExist) {
		key := make([]byte, nodeKeySize)
		_, _ = rand.Read(key) // never fails, as documented
		if err := disk.Create(n.path, key); err != nil {
			return n, false, fmt.Errorf("make the node key: %w", err)
		}
		made = true
	}
	_, _, err = n.load()
	return n, made, err
}

// load returns the cipher and the ID of the node key.
func (n *nodeKey) load() (cipher.AEAD, [idSize]byte, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.aead != nil {
		return n.aead, n.id, nil
	}
	key, err := readNodeKey(n.path)
	if err != nil {
		return nil, n.id, err
	}
	if n.aead, err = cipherOf(key); err != nil {
		return nil, n.id, err
	}
	n.id = idOf(key)
	return n.aead, n.id, nil
}

func cipherOf(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

// idOf returns the ID of a node key.
func idOf(key []byte) (id [idSize]byte) {
	sum := sha256.Sum256(append([]byte("sluice node key\x00"), key...))
	copy(id[:], sum[:])
	return id
}

func readNodeKey(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("the node key %s is missing: put the file back from a backup", path)
	case errors.Is(err, fs.ErrPermission):
		return nil, fmt.Errorf("the node key %s cannot be read: make the user of the data directory its owner", path)
	case err != nil:
		return nil, fmt.Errorf("the node key cannot be read: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("the node key cannot be read: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("the node key %s is no file: put the file back from a backup", path)
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return nil, fmt.Errorf("the node key %s can be read or written by others (mode %04o): chmod 600 it, and when others may have read it, replace the certificates", path, mode)
	}
	key, err := io.ReadAll(io.LimitReader(f, nodeKeySize+1))
	if err != nil {
		return nil, fmt.Errorf("the node key cannot be read: %w", err)
	}
	if len(key) != nodeKeySize {
		return nil, fmt.Errorf("the node key %s does not have %d bytes: put the file back from a backup", path, nodeKeySize)
	}
	return key, nil
}

// seal encrypts the key of a name.
func (n *nodeKey) seal(name string, plain []byte) ([]byte, error) {
	aead, id, err := n.load()
	if err != nil {
		return nil, err
	}
	out := append([]byte{sealVersion}, id[:]...)
	nonce := make([]byte, aead.NonceSize())
	_, _ = rand.Read(nonce) // never fails, as documented
	out = append(out, nonce...)
	return aead.Seal(out, nonce, plain, sealedFor(name)), nil
}

// open decrypts the key of a name. Its errors distinguish a foreign node key from a damaged
// record.
func (n *nodeKey) open(name string, sealed []byte) ([]byte, error) {
	aead, id, err := n.load()
	if err != nil {
		return nil, err
	}
	switch {
	case len(sealed) < sealHead+aead.NonceSize() || sealed[0] != sealVersion:
		return nil, errors.New("its private key is damaged: upload the certificate again")
	case !bytes.Equal(sealed[1:sealHead], id[:]):
		aead = n.other([idSize]byte(sealed[1:sealHead]))
	}
	if aead == nil {
		return nil, fmt.Errorf("its private key was encrypted with another node key: put the right %s back from a backup and restart, or upload the certificate again", NodeKeyFile)
	}
	nonce, body := sealed[sealHead:sealHead+aead.NonceSize()], sealed[sealHead+aead.NonceSize():]
	plain, err := aead.Open(nil, nonce, body, sealedFor(name))
	if err != nil {
		return nil, errors.New("its private key is damaged: upload the certificate again")
	}
	return plain, nil
}

func sealedFor(name string) []byte { return []byte("sluice private key\x00" + name) }
