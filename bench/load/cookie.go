package load

import "bytes"

// learn stores the cookie of the first response, which later requests of the slot send.
func (c *Client) learn(i int32, head []byte) error {
	value, ok := setCookie(head, c.spec.LearnCookie)
	if !ok {
		return errNoCookie
	}
	c.slots[i].request = c.spec.request(c.spec.LearnCookie + "=" + value)
	return nil
}

// setCookie returns the value a head sets for the named cookie (RFC 6265,
// section 4.1).
func setCookie(head []byte, name string) (string, bool) {
	for line := range bytes.Lines(head) {
		field, value, _ := bytes.Cut(line, []byte(":"))
		if !bytes.EqualFold(field, []byte("set-cookie")) {
			continue
		}
		pair, _, _ := bytes.Cut(value, []byte(";"))
		got, text, ok := bytes.Cut(bytes.TrimSpace(pair), []byte("="))
		if ok && string(got) == name {
			return string(text), true
		}
	}
	return "", false
}
