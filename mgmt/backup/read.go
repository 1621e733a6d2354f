package backup

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"filippo.io/age"

	"github.com/sluicelb/sluice/mgmt/hook"
)

// Limits of an archive.
const (
	// MaxSize is the maximum size of an archive, maxExpanded that of all members together,
	// in bytes.
	MaxSize     = 128 << 20
	maxExpanded = 256 << 20
	maxManifest = 256 << 10
	// maxHooks is the maximum number of programs.
	maxHooks   = 256
	maxMembers = maxHooks + 5
	// maxPlaces bounds the GeoIP database, to leave room for irreplaceable data. A city
	// database has about 60 MiB.
	maxPlaces = 96 << 20
)

// unpack reads a gzipped tar to its end and checks it against its manifest. Its memory use
// is bounded for any input.
func unpack(r io.Reader) (Manifest, map[string][]byte, error) {
	var m Manifest
	compressed, err := gzip.NewReader(&bounded{r: r, left: MaxSize, what: "the archive is larger than it may be"})
	if err != nil {
		return m, nil, told(err)
	}
	// Headers and padding have their own limit: each member has at most half a kilobyte of
	// both.
	plain := &bounded{r: compressed, left: maxExpanded + maxManifest + (maxMembers+2)*(1<<10), what: "it expands to more than it may"}
	in := tar.NewReader(plain)
	m, err = readManifest(in)
	if err != nil {
		return m, nil, err
	}
	out, err := readMembers(in, &m)
	if err != nil {
		return m, nil, err
	}
	rest, err := io.ReadAll(plain) // up to the checksum at the end
	if err != nil {
		return m, nil, told(err)
	}
	if len(bytes.Trim(rest, "\x00")) > 0 {
		return m, nil, damaged("something follows its end")
	}
	return m, out, nil
}

// bounded is a reader with a limit.
type bounded struct {
	r    io.Reader
	left int64
	what string
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, damaged("%s", b.what)
	}
	n, err := b.r.Read(p[:min(int64(len(p)), b.left+1)])
	if b.left -= int64(n); b.left < 0 {
		return n, damaged("%s", b.what)
	}
	return n, err
}

// told converts errors of the format packages into an error about a damaged archive.
func told(err error) error {
	var known *Error
	if errors.As(err, &known) {
		return known
	}
	return damaged("%s", hook.Shown(err.Error()))
}

// next reads the header of the next member, which must be a regular file.
func next(in *tar.Reader) (*tar.Header, error) {
	h, err := in.Next()
	if err != nil {
		return nil, err
	}
	if h.Typeflag != tar.TypeReg || h.Linkname != "" {
		return nil, damaged("%q is no plain file", hook.Shown(h.Name))
	}
	for key := range h.PAXRecords { // sparse files expand to data that nobody wrote
		if strings.Contains(key, "sparse") {
			return nil, damaged("%q is a sparse file", hook.Shown(h.Name))
		}
	}
	return h, nil
}

// readManifest reads the first member.
func readManifest(in *tar.Reader) (m Manifest, err error) {
	h, err := next(in)
	if errors.Is(err, io.EOF) {
		return m, damaged("it is empty")
	}
	if err != nil {
		return m, told(err)
	}
	if h.Name != manifestName || h.Size > maxManifest {
		return m, damaged("its first member is no %s", manifestName)
	}
	text, err := io.ReadAll(in)
	if err != nil {
		return m, told(err)
	}
	if err := strict(text, &m); err != nil {
		return m, damaged("%s: %s", manifestName, hook.Shown(err.Error()))
	}
	return m, m.check()
}

// strict decodes one JSON value and rejects unknown fields.
func strict(text []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("something follows the value")
	}
	return nil
}

// check validates a manifest.
func (m *Manifest) check() error {
	switch {
	case m.Product != product:
		return invalid("the archive is a backup of %q, not of Sluice", hook.Shown(m.Product))
	case m.Format != format:
		return invalid("the archive has format %d, this release reads %d: use the release that made it (%s)", m.Format, format, hook.Shown(m.Version))
	case m.Version == "" || len(m.Version) > 64 || len(m.Hostname) > 255 || len(m.Node) > 64 || len(m.Members) > maxMembers:
		return damaged("%s: a value is missing or too long", manifestName)
	}
	seen, total := map[string]bool{}, int64(0)
	for _, f := range m.Members {
		if !memberName(f.Name, m.Encrypted) || seen[f.Name] {
			return damaged("%s: %q is no member, or twice", manifestName, hook.Shown(f.Name))
		}
		seen[f.Name] = true
		if f.Size < 0 || f.Size > maxExpanded || len(f.SHA256) != 2*sha256.Size {
			return damaged("%s: %q has a size or a sum that cannot be", manifestName, f.Name)
		}
		total += f.Size
	}
	if total > maxExpanded {
		return damaged("it expands to more than it may")
	}
	return nil
}

// memberName reports whether a member name is valid. Names are a closed list without path
// traversal.
func memberName(name string, encrypted bool) bool {
	switch name {
	case configName, storeName, placesName:
		return true
	case sealedName, nodeKeysName:
		return encrypted
	}
	_, found := programMember(name)
	return found
}

// readMembers reads the remaining members. Each must be in the manifest exactly once.
func readMembers(in *tar.Reader, m *Manifest) (map[string][]byte, error) {
	want := map[string]Member{}
	for _, f := range m.Members {
		want[f.Name] = f
	}
	out := map[string][]byte{}
	for {
		h, err := next(in)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, told(err)
		}
		f, listed := want[h.Name]
		if _, twice := out[h.Name]; !listed || twice || h.Size != f.Size {
			return nil, damaged("%q is not as its manifest says, or twice", hook.Shown(h.Name))
		}
		content, err := io.ReadAll(in)
		if err != nil {
			return nil, told(err)
		}
		if sum := sha256.Sum256(content); hex.EncodeToString(sum[:]) != f.SHA256 {
			return nil, damaged("%q has another sum than its manifest says", h.Name)
		}
		out[h.Name] = content
	}
	if len(out) != len(want) {
		return nil, damaged("%d of its %d members are missing", len(want)-len(out), len(want))
	}
	return out, nil
}

// errPassphrase is the error for a wrong passphrase, or for damage that cannot be
// distinguished from it.
var errPassphrase = invalid("the passphrase does not open the archive: it is another one, or the archive is damaged")

// read reads a whole archive.
func read(r io.Reader, passphrase string) (*archive, error) {
	m, members, err := unpack(r)
	if err != nil {
		return nil, err
	}
	if m.Encrypted {
		if m, members, err = open(members[sealedName], passphrase); err != nil {
			return nil, err
		}
	}
	a := &archive{Manifest: m, Config: members[configName], Places: members[placesName]}
	if a.Config == nil || members[storeName] == nil {
		return nil, damaged("%s or %s is missing", configName, storeName)
	}
	var s stored
	if err := strict(members[storeName], &s); err != nil {
		return nil, damaged("%s: %s", storeName, hook.Shown(err.Error()))
	}
	a.Contents, a.Farms = s.Contents, s.Farms
	if keys, has := members[nodeKeysName]; has {
		if err := strict(keys, &a.NodeKeys); err != nil {
			return nil, damaged("%s cannot be read", nodeKeysName) // its text is secret
		}
	}
	for _, f := range m.Members {
		if h, found := programMember(f.Name); found {
			h.Content = members[f.Name]
			a.Hooks = append(a.Hooks, h)
		}
	}
	return a, nil
}

// open decrypts the encrypted member, which is an archive itself.
func open(sealed []byte, passphrase string) (Manifest, map[string][]byte, error) {
	if sealed == nil {
		return Manifest{}, nil, damaged("%s is missing", sealedName)
	}
	if passphrase == "" {
		return Manifest{}, nil, invalid("the archive is encrypted: its passphrase is needed")
	}
	identity, err := age.NewScryptIdentity(passphrase)
	if err != nil {
		return Manifest{}, nil, errPassphrase
	}
	identity.SetMaxWorkFactor(maxWorkFactor)
	plain, err := age.Decrypt(bytes.NewReader(sealed), identity)
	if err != nil {
		return Manifest{}, nil, errPassphrase
	}
	m, members, err := unpack(plain)
	if err == nil && members[sealedName] != nil {
		err = damaged("%s is in itself", sealedName)
	}
	return m, members, err
}
