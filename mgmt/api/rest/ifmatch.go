package rest

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// match is the revision a client expects (RFC 9110 §13.1.1): one of several tags, or any.
type match struct {
	any bool
	// tags holds strong tags only. Weak tags never match, because the comparison is strong.
	tags []string
}

// readMatch parses If-Match. A single tag may lack its quotes. An invalid list matches
// nothing.
func readMatch(r *http.Request) match {
	text := strings.TrimSpace(strings.Join(r.Header.Values("If-Match"), ", "))
	if text == "" || text == "*" {
		return match{any: true}
	}
	tags, _ := readTags(text, false)
	return match{tags: tags}
}

// readTags parses a list of tags. Weak tags are dropped, or treated as strong if weakToo is
// true.
func readTags(text string, weakToo bool) (tags []string, ok bool) {
	if !strings.ContainsAny(text, `", `) {
		return []string{text}, true
	}
	for rest := text; rest != ""; {
		weak := strings.HasPrefix(rest, "W/")
		tag, behind, is := cutTag(strings.TrimPrefix(rest, "W/"))
		if !is {
			return nil, false
		}
		if !weak || weakToo {
			tags = append(tags, tag)
		}
		rest = behind
	}
	return tags, true
}

// cutTag splits off the first tag of a list and its comma.
func cutTag(text string) (tag, behind string, is bool) {
	if !strings.HasPrefix(text, `"`) {
		return "", "", false
	}
	tag, behind, is = strings.Cut(text[1:], `"`)
	behind = strings.TrimLeft(behind, " \t")
	if !is || behind == "" {
		return tag, "", is
	}
	next := strings.TrimLeft(behind, ", \t") // a list may have empty elements (RFC 9110 §5.6.1)
	return tag, next, behind[0] == ','
}

// of reports whether the revision is expected. A tag is a revision, or a revision with the
// digest of a representation.
func (m match) of(revision string) bool {
	return m.any || slices.ContainsFunc(m.tags, func(tag string) bool {
		rev, _, _ := strings.Cut(tag, digestMark)
		return rev == revision
	})
}

// digestMark separates the revision and the digest in a tag.
const digestMark = "."

// tagOf returns the tag of a GET response. It changes with the revision and with the
// representation, which may contain more than the revision covers.
func tagOf(etag string, body []byte) string {
	if etag == "" {
		return ""
	}
	return strings.TrimSuffix(etag, `"`) + digestMark + digestOf(body) + `"`
}

// unchanged reports whether a client already has the tagged representation (RFC 9110
// §13.1.2). The revision may have changed.
func unchanged(r *http.Request, tag string) bool {
	text := strings.TrimSpace(strings.Join(r.Header.Values("If-None-Match"), ", "))
	if text == "" || tag == "" {
		return false
	}
	_, digest, has := strings.Cut(strings.Trim(tag, `"`), digestMark)
	tags, _ := readTags(text, true)
	return text == "*" || has && slices.ContainsFunc(tags, func(known string) bool {
		_, is, _ := strings.Cut(known, digestMark)
		return is == digest
	})
}

// reads reports whether a reading client expects the representation of the tag. Only the
// digest counts, as with If-None-Match. A response without a tag always matches.
func (m match) reads(tag string) bool {
	_, digest, has := strings.Cut(strings.Trim(tag, `"`), digestMark)
	return m.any || !has || slices.ContainsFunc(m.tags, func(known string) bool {
		_, is, _ := strings.Cut(known, digestMark)
		return is == digest
	})
}

// isFarmAsBefore reports whether the farm in the path has not changed since the revision of
// one of the tags. Objects below a farm may be written with the tag of the farm, whose
// representation also shows live data such as health.
func (c *Call) isFarmAsBefore(m match) bool {
	if !strings.Contains(c.op.Path, "{farm}") {
		return false
	}
	f := c.Config.Farm(c.Param("farm"))
	if f == nil || !c.mayFarm(f.ID) {
		return false
	}
	last := c.host.Applier.FarmRevision(f.ID)
	return slices.ContainsFunc(m.tags, func(tag string) bool {
		text, _, of := strings.Cut(tag, digestMark)
		revision, err := strconv.ParseUint(text, 10, 64)
		return of && err == nil && revision >= last && revision <= c.Revision
	})
}

// isAsBefore reports whether the resource in the path, or one above it, still has the
// representation of one of the tags. If so, only other resources changed.
func (c *Call) isAsBefore(m match) bool {
	if !slices.ContainsFunc(m.tags, func(tag string) bool { return strings.Contains(tag, digestMark) }) {
		return false
	}
	pattern, path := c.op.Path, c.Request.URL.Path
	for pattern != "" {
		if read := c.host.Reads[pattern]; read != nil && c.reads(read, path, m) {
			return true
		}
		pattern, path = pattern[:strings.LastIndexByte(pattern, '/')], path[:strings.LastIndexByte(path, '/')]
	}
	return false
}

// reads reports whether the current response of a read operation matches one of the tags.
func (c *Call) reads(read *Operation, path string, m match) bool {
	r := c.Request.Clone(WithNote(c.Context, &Note{}))
	r.Method, r.Body, r.URL = http.MethodGet, http.NoBody, &url.URL{Path: path}
	r.Header.Del("If-Match")
	r.Header.Del("If-None-Match")
	w := &tagged{header: http.Header{}}
	read.answer(&Call{Context: r.Context(), Request: r, By: c.By, Config: c.show(c.Config), Revision: c.Revision, host: c.host, op: read, response: w, param: c.param})
	_, digest, has := strings.Cut(strings.Trim(w.header.Get("ETag"), `"`), digestMark)
	return has && slices.ContainsFunc(m.tags, func(tag string) bool {
		_, is, _ := strings.Cut(tag, digestMark)
		return is == digest
	})
}

// tagged is a response writer that keeps only the headers.
type tagged struct{ header http.Header }

// Header, WriteHeader and Write implement http.ResponseWriter.
func (t *tagged) Header() http.Header { return t.header }

// WriteHeader discards the status.
func (t *tagged) WriteHeader(int) {}

// Write discards the body.
func (t *tagged) Write(b []byte) (int, error) { return len(b), nil }
