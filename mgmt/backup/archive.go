package backup

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"time"

	"filippo.io/age"

	"github.com/sluicelb/sluice/mgmt/hook"
	"github.com/sluicelb/sluice/mgmt/store"
)

// Members of an archive.
const (
	manifestName = "manifest.json"
	configName   = "configuration.yaml"
	storeName    = "store.json"
	nodeKeysName = "node-keys.json"
	placesName   = "geoip.table"
	sealedName   = "content.age"
)

const (
	product = "sluice"
	format  = 1
)

// Manifest describes an archive. Without encryption it is not authenticated: it detects
// damage, not forgery.
type Manifest struct {
	Format   int       `json:"format"`
	Product  string    `json:"product"`
	Version  string    `json:"version"`
	Layout   int       `json:"layout"` // of the store
	Date     time.Time `json:"date"`
	Hostname string    `json:"hostname"`
	// Node is the ID of the node key that seals the secrets.
	Node string `json:"node"`
	// Encrypted means that everything else needs a passphrase.
	Encrypted bool     `json:"encrypted"`
	Members   []Member `json:"members"`
}

// Member is a file of an archive.
type Member struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// programFolders are the folders of operator programs included in an archive.
var programFolders = []string{hook.Folder, hook.Plugins}

// programMember returns the program of a member name.
func programMember(name string) (h Hook, is bool) {
	folder, program, _ := strings.Cut(name, "/")
	if !slices.Contains(programFolders, folder) || hook.NameProblem(program) != "" {
		return Hook{}, false
	}
	if h.Name = program; folder != hook.Folder {
		h.Folder = folder
	}
	return h, true
}

// Hook is an operator program.
type Hook struct {
	// Folder is its folder in the data directory; "" means hook.Folder.
	Folder  string `json:"folder,omitempty"`
	Name    string `json:"name"`
	Content []byte `json:"content"`
}

// archive is the content of an archive.
type archive struct {
	Manifest Manifest
	Config   []byte // a configuration document
	Contents store.Contents
	// Farms maps the farm IDs used by user groups to names.
	Farms    map[uint32]string
	Hooks    []Hook
	NodeKeys [][]byte // only if encrypted
	Places   []byte   // the GeoIP database, nil if there is none
}

// workFactor is the cost of a passphrase guess: scrypt with N = 2^16 and r = 8, which takes
// 64 MiB. Foreign archives may require four times as much.
const (
	workFactor    = 16
	maxWorkFactor = 18
)

// write writes the archive, encrypted if there is a passphrase.
func (a *archive) write(w io.Writer, passphrase string) error {
	members, err := a.members(passphrase != "")
	if err != nil {
		return err
	}
	if passphrase == "" {
		return pack(w, a.Manifest, members)
	}
	var sealed bytes.Buffer
	recipient, err := age.NewScryptRecipient(passphrase)
	if err != nil {
		return err
	}
	recipient.SetWorkFactor(workFactor)
	inner, err := age.Encrypt(&sealed, recipient)
	if err != nil {
		return err
	}
	a.Manifest.Encrypted = true
	if err := pack(inner, a.Manifest, members); err != nil {
		return err
	}
	if err := inner.Close(); err != nil {
		return err
	}
	return pack(w, a.Manifest, []file{{sealedName, sealed.Bytes()}})
}

// path returns its path in the data directory, which is also its member name.
func (h *Hook) path() string { return cmp.Or(h.Folder, hook.Folder) + "/" + h.Name }

// file is a member with its content.
type file struct {
	name    string
	content []byte
}

// stored is the member store.json.
type stored struct {
	store.Contents
	Farms map[uint32]string `json:"farms,omitempty"`
}

// members returns the files of the archive except the manifest.
func (a *archive) members(encrypted bool) ([]file, error) {
	contents, err := json.Marshal(stored{a.Contents, a.Farms})
	if err != nil {
		return nil, err
	}
	out := []file{{configName, a.Config}, {storeName, contents}}
	for _, h := range a.Hooks {
		out = append(out, file{h.path(), h.Content})
	}
	if a.Places != nil {
		out = append(out, file{placesName, a.Places})
	}
	if encrypted {
		keys, err := json.Marshal(a.NodeKeys)
		if err != nil {
			return nil, err
		}
		out = append(out, file{nodeKeysName, keys})
	}
	return out, nil
}

// pack writes a gzipped tar, manifest first.
func pack(w io.Writer, m Manifest, members []file) error {
	m.Members = nil
	for _, f := range members {
		sum := sha256.Sum256(f.content)
		m.Members = append(m.Members, Member{f.name, int64(len(f.content)), hex.EncodeToString(sum[:])})
	}
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	compressed := gzip.NewWriter(w)
	out := tar.NewWriter(compressed)
	for _, f := range append([]file{{manifestName, text}}, members...) {
		header := tar.Header{Name: f.name, Mode: 0o600, Size: int64(len(f.content)), ModTime: m.Date, Typeflag: tar.TypeReg, Format: tar.FormatUSTAR}
		if err := out.WriteHeader(&header); err != nil {
			return err
		}
		if _, err := out.Write(f.content); err != nil {
			return err
		}
	}
	if err := out.Close(); err != nil {
		return err
	}
	return compressed.Close()
}
