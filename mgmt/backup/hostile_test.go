package backup_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/mgmt/store"
)

// packed is a handmade archive: a manifest, and members of any kind.
type packed struct {
	manifest map[string]any
	members  []tar.Header
	contents []string
	list     []map[string]any // in the manifest; by default all members
	after    string           // in the tar, after its end
}

func newPacked() *packed {
	p := &packed{manifest: map[string]any{"format": 1, "product": "sluice", "version": "1.0", "layout": store.Layout, "date": now, "hostname": "h", "node": "n", "encrypted": false}}
	p.add("configuration.yaml", "farms: []\n")
	p.add("store.json", "{}")
	return p
}

func (p *packed) add(name, content string, change ...func(*tar.Header)) *packed {
	h := tar.Header{Name: name, Mode: 0o600, Size: int64(len(content)), Typeflag: tar.TypeReg}
	for _, edit := range change {
		edit(&h)
	}
	p.members, p.contents = append(p.members, h), append(p.contents, content)
	sum := sha256.Sum256([]byte(content))
	p.list = append(p.list, map[string]any{"name": name, "size": len(content), "sha256": hex.EncodeToString(sum[:])})
	return p
}

func (p *packed) set(name string, v any) *packed { p.manifest[name] = v; return p }

func (p *packed) bytes(t testing.TB) []byte {
	t.Helper()
	p.manifest["members"] = p.list
	text, err := json.Marshal(p.manifest)
	if err != nil {
		t.Fatal(err)
	}
	var plain bytes.Buffer
	w := tar.NewWriter(&plain)
	_ = w.WriteHeader(&tar.Header{Name: "manifest.json", Size: int64(len(text)), Typeflag: tar.TypeReg})
	_, _ = w.Write(text)
	for i := range p.members {
		if err := w.WriteHeader(&p.members[i]); err != nil {
			t.Fatal(err)
		}
		if p.members[i].Size > 0 {
			_, _ = io.WriteString(w, p.contents[i])
		}
	}
	_ = w.Close()
	plain.WriteString(p.after)
	return zipped(plain.Bytes())
}

func zipped(b []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = w.Write(b)
	_ = w.Close()
	return out.Bytes()
}

func TestRow24AHostileArchiveIsRefusedAndChangesNothing(t *testing.T) {
	h := newHouse(t)
	h.fill()
	_, err := h.Create(root, "own", "")
	h.must(err)
	own := h.bytes("own")
	kind := func(flag byte) func(*tar.Header) {
		return func(h *tar.Header) { h.Typeflag, h.Size, h.Linkname = flag, 0, "/etc/passwd" }
	}
	good := newPacked().bytes(t)
	for what, c := range map[string]struct {
		archive []byte
		part    string
	}{
		"nothing":                {nil, "damaged"},
		"text":                   {[]byte("farms: []"), "damaged"},
		"no tar":                 {zipped([]byte("farms: []")), "damaged"},
		"an empty tar":           {zipped(make([]byte, 1024)), "it is empty"},
		"a path":                 {newPacked().add("../../etc/cron.d/x", "x").bytes(t), `"../../etc/cron.d/x" is no member`},
		"an absolute path":       {newPacked().add("/etc/passwd", "x").bytes(t), "is no member"},
		"a path in hooks":        {newPacked().add("hooks/../../x", "x").bytes(t), "is no member"},
		"a folder in hooks":      {newPacked().add("hooks/a/b", "x").bytes(t), "is no member"},
		"an unknown member":      {newPacked().add("other", "x").bytes(t), "is no member"},
		"keys in the open":       {newPacked().add("node-keys.json", "[]").bytes(t), "is no member"},
		"a link":                 {newPacked().add("hooks/x", "", kind(tar.TypeSymlink)).bytes(t), "no plain file"},
		"a hard link":            {newPacked().add("hooks/x", "", kind(tar.TypeLink)).bytes(t), "no plain file"},
		"a device":               {newPacked().add("hooks/x", "", kind(tar.TypeBlock)).bytes(t), "no plain file"},
		"a pipe":                 {newPacked().add("hooks/x", "", kind(tar.TypeFifo)).bytes(t), "no plain file"},
		"a folder":               {newPacked().add("hooks/x", "", kind(tar.TypeDir)).bytes(t), "no plain file"},
		"a member twice":         {newPacked().add("hooks/x", "a").add("hooks/x", "a").bytes(t), "twice"},
		"a member not listed":    {unlisted(t), "not as its manifest says"},
		"a listed one missing":   {missing(t), "missing"},
		"another sum":            {otherSum(t), "another sum"},
		"another size":           {otherSize(t), "not as its manifest says"},
		"something behind it":    {append(bytes.Clone(good), "more"...), "damaged"},
		"something in the tar":   {with(func(p *packed) { p.after = "more" }).bytes(t), "follows its end"},
		"cut in the middle":      {own[:len(own)/2], "damaged"},
		"cut at the end":         {own[:len(own)-1], "damaged"},
		"a flipped bit":          {flipped(own), "damaged"},
		"of another product":     {newPacked().set("product", "x").bytes(t), `a backup of "x"`},
		"of another format":      {newPacked().set("format", 2).bytes(t), "format 2"},
		"without a release":      {newPacked().set("version", "").bytes(t), "missing or too long"},
		"a long host":            {newPacked().set("hostname", strings.Repeat("x", 300)).bytes(t), "missing or too long"},
		"a field nobody knows":   {newPacked().set("x", 1).bytes(t), "unknown field"},
		"no manifest":            {zipped(tarOf("x", "y")), "its first member"},
		"a manifest too long":    {zipped(tarOf("manifest.json", strings.Repeat(" ", 300<<10))), "its first member"},
		"listed as gigantic":     {with(func(p *packed) { p.list[0]["size"] = int64(10 << 30) }).bytes(t), "a size or a sum that cannot be"},
		"listed as negative":     {with(func(p *packed) { p.list[0]["size"] = -1 }).bytes(t), "a size or a sum that cannot be"},
		"together gigantic":      {with(func(p *packed) { p.list[0]["size"], p.list[1]["size"] = 200<<20, 200<<20 }).bytes(t), "expands to more"},
		"a head of ten gigabyte": {zipped(tarHead("manifest.json", 10<<30)), "its first member"},
		"a thousand members": {with(func(p *packed) {
			for i := range 1000 {
				p.add(fmt.Sprint("hooks/x", i), "")
			}
		}).bytes(t), "too long"},
	} {
		before, list := h.state(), names(t, h)
		_, err := h.Upload(root, "a", bytes.NewReader(c.archive), int64(len(c.archive)))
		if err == nil || !strings.Contains(err.Error(), c.part) {
			t.Errorf("%s: %v, want %q", what, err, c.part)
		}
		if !reflect.DeepEqual(h.state(), before) || names(t, h) != list {
			t.Fatalf("%s: something changed: %s", what, names(t, h))
		}
	}
	_, err = h.Upload(root, "a", bytes.NewReader(good), int64(len(good)))
	h.must(err)
}

// An intact archive may still be impossible to restore.
func TestRow24UnusableBackupsAreNotRestored(t *testing.T) {
	h := newHouse(t)
	h.fill()
	v, err := h.Create(root, "own", "")
	h.must(err)
	node := v.Manifest.Node
	key := `{"id":1,"user":"root","hash":"` + strings.Repeat("A", 43) + `="}`
	for what, c := range map[string]struct {
		p    *packed
		part string
	}{
		"a document that is wrong":             {parts(node, "farms: [{name: x}]\n", "{}"), "the configuration of the backup cannot be used"},
		"no document":                          {parts(node, "]", "{}"), "the configuration of the backup cannot be used"},
		"no JSON":                              {parts(node, "farms: []\n", "]"), "store.json"},
		"an unknown field":                     {parts(node, "farms: []\n", `{"x":1}`), "unknown field"},
		"two values":                           {parts(node, "farms: []\n", `{}{}`), "something follows"},
		"a setting twice":                      {parts(node, "farms: []\n", `{"settings":[{"name":"a","value":""},{"name":"a","value":""}]}`), "twice"},
		"a setting without a name":             {parts(node, "farms: []\n", `{"settings":[{"name":"","value":""}]}`), "without a name"},
		"a key twice":                          {parts(node, "farms: []\n", `{"keys":[`+key+`,`+key+`]}`), "twice"},
		"a key without its sum":                {parts(node, "farms: []\n", `{"keys":[{"id":1,"user":"root","hash":""}]}`), "without its sum"},
		"of a newer layout":                    {parts(node, "farms: []\n", "{}").set("layout", store.Layout+1), "newer release"},
		"of another node":                      {parts("0123456789abcdef", "farms: []\n", "{}"), "of another node"},
		"a certificate in use that is missing": {parts(node, string(configOf(h)), "{}"), "shop.pem"},
		"places that are none":                 {parts(node, "farms: []\n", "{}").add("geoip.table", "{}\nnothing"), "geoip.table: it is damaged"},
		"only a store":                         {only("store.json", "{}", node), "is missing"},
		"only a document":                      {only("configuration.yaml", "farms: []\n", node), "is missing"},
		"encrypted without it":                 {parts(node, "farms: []\n", "{}").set("encrypted", true), "content.age is missing"},
		"encrypted by nobody":                  {only("content.age", "age-encryption.org/v1\n", node).set("encrypted", true), "passphrase"},
	} {
		b := c.p.bytes(t)
		_, err := h.Upload(root, "a", bytes.NewReader(b), int64(len(b)))
		h.must(err)
		before := h.state()
		q := all
		q.Passphrase, q.Force = passphrase, true
		if _, err = h.Apply(t.Context(), root, q); err == nil || !strings.Contains(err.Error(), c.part) {
			t.Errorf("%s: %v, want %q", what, err, c.part)
		}
		if got := h.state(); !reflect.DeepEqual(got, before) {
			t.Fatalf("%s: something changed", what)
		}
		h.must(h.Delete(root, "a"))
	}
}

// names returns the names of all archives.
func names(t *testing.T, h *house) (out string) {
	t.Helper()
	list, err := h.List()
	h.must(err)
	for _, v := range list {
		out += v.Name + " "
	}
	return out
}

func with(change func(*packed)) *packed { p := newPacked(); change(p); return p }

func parts(node, document, contents string) *packed {
	p := newPacked()
	p.members, p.contents, p.list = nil, nil, nil
	return p.add("configuration.yaml", document).add("store.json", contents).set("node", node)
}

func only(name, content, node string) *packed {
	p := newPacked()
	p.members, p.contents, p.list = nil, nil, nil
	return p.add(name, content).set("node", node)
}

func unlisted(t *testing.T) []byte {
	p := newPacked().add("hooks/x", "x")
	p.list = p.list[:2]
	return p.bytes(t)
}

func missing(t *testing.T) []byte {
	p := newPacked().add("hooks/x", "x")
	p.members = p.members[:2]
	return p.bytes(t)
}

func otherSum(t *testing.T) []byte {
	p := newPacked().add("hooks/x", "x")
	p.list[2]["sha256"] = strings.Repeat("0", 64)
	return p.bytes(t)
}

func otherSize(t *testing.T) []byte {
	p := newPacked().add("hooks/x", "x")
	p.list[2]["size"] = 2
	return p.bytes(t)
}

func flipped(b []byte) []byte {
	b = bytes.Clone(b)
	b[len(b)/2] ^= 1
	return b
}

func tarOf(name, content string) []byte {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	_ = w.WriteHeader(&tar.Header{Name: name, Size: int64(len(content)), Typeflag: tar.TypeReg})
	_, _ = io.WriteString(w, content)
	_ = w.Close()
	return out.Bytes()
}

func tarHead(name string, size int64) []byte {
	var out bytes.Buffer
	_ = tar.NewWriter(&out).WriteHeader(&tar.Header{Name: name, Size: size, Typeflag: tar.TypeReg, Format: tar.FormatGNU})
	return out.Bytes()
}

func manifestText(t *testing.T) string {
	p := newPacked()
	p.manifest["members"] = p.list
	text, err := json.Marshal(p.manifest)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func configOf(h *house) []byte { return []byte(h.state().config) }

// An archive with any byte changed, or truncated anywhere, is not restored.
func TestRow24NoDamagedByteIsRestored(t *testing.T) {
	h := newHouse(t)
	h.fill()
	_, err := h.Create(root, "own", "")
	h.must(err)
	own := h.bytes("own")
	h.must(h.farm("second", 8444))
	before := h.state()
	try := func(what string, b []byte) {
		t.Helper()
		if _, err := h.Upload(root, "a", bytes.NewReader(b), int64(len(b))); err == nil {
			// Bytes without content may differ, e.g. the time in the gzip header: the
			// archive is the same.
			if got := unzipped(t, b); !bytes.Equal(got, unzipped(t, own)) {
				t.Fatalf("%s: other content was accepted", what)
			}
			h.must(h.Delete(root, "a"))
		}
		if got := h.state(); !reflect.DeepEqual(got, before) {
			t.Fatalf("%s: something changed", what)
		}
	}
	step := max(1, len(own)/300)
	for i := 0; i < len(own); i += step {
		b := bytes.Clone(own)
		b[i] ^= 1 << (i % 8)
		try(fmt.Sprintf("byte %d of %d changed", i, len(own)), b)
		try(fmt.Sprintf("cut after %d of %d bytes", i, len(own)), own[:i])
	}
	for i := range 64 { // the end contains the checksums
		b := bytes.Clone(own)
		b[len(b)-1-i] ^= 0x80
		try(fmt.Sprintf("byte %d from the end changed", i), b)
	}
}

func unzipped(t *testing.T, b []byte) []byte {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
