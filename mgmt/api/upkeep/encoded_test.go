package upkeep

import (
	"encoding/base64"
	"io"
	"strings"
	"testing"
)

func TestAnArchiveInBase64IsTakenAsItIs(t *testing.T) {
	archive := "\x1f\x8b\x08\x00" + strings.Repeat("content", 100)
	text := base64.StdEncoding.EncodeToString([]byte(archive))
	var lines strings.Builder
	for at := 0; at < len(text); at += 76 { // MIME line length
		lines.WriteString(text[at:min(at+76, len(text))] + "\n")
	}
	for sent, size := range map[string]int64{archive: int64(len(archive)), text: int64(len(text)), lines.String(): -1} {
		body, told := decoded(strings.NewReader(sent), size)
		got, err := io.ReadAll(body)
		if err != nil || string(got) != archive {
			t.Errorf("%.10q: %d bytes, %v", sent, len(got), err)
		}
		if size >= 0 && (told < int64(len(archive)) || told > int64(len(archive))+3) {
			t.Errorf("%.10q: length %d, want %d", sent, told, len(archive))
		}
	}
	for _, other := range []string{"", "H4s", "nonsense"} {
		if body, size := decoded(strings.NewReader(other), 8); size != 8 || readAll(t, body) != other {
			t.Errorf("%q is changed", other)
		}
	}
	body, _ := decoded(strings.NewReader("H4sI!!!"), 7)
	if _, err := io.ReadAll(body); err == nil {
		t.Error("broken base64 is accepted")
	}
}

func readAll(t *testing.T, from io.Reader) string {
	b, err := io.ReadAll(from)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
