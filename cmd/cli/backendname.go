package cli

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/sluicelb/sluice/cmd/cli/command"
)

// backendNumber returns the API number of a backend, given its number, its address with or without
// port, its host name or its alias.
func backendNumber(c *command.Line, ctx context.Context, o owner, word string) (string, error) {
	if isNumber(word) {
		return word, nil
	}
	list, _, err := backendsOf(c, ctx, o)
	if err != nil {
		return "", err
	}
	at, err := find(list, o, word)
	if err != nil {
		return "", err
	}
	return strconv.Itoa(list[at].ID), nil
}

func isNumber(word string) bool {
	return word != "" && strings.Trim(word, "0123456789") == ""
}

// find returns the position of the only backend that matches a word.
func find(list []backend, o owner, word string) (int, error) {
	var found []int
	for i := range list {
		if list[i].called(word) {
			found = append(found, i)
		}
	}
	switch len(found) {
	case 0:
		return 0, fmt.Errorf("there is no backend %q: `sluice backend list %s` lists them", word, o)
	case 1:
		return found[0], nil
	}
	var numbers []string
	for _, i := range found {
		numbers = append(numbers, strconv.Itoa(list[i].ID))
	}
	return 0, command.Usagef("%q matches more than one backend: use the number, %s", word, strings.Join(numbers, " or "))
}

// called reports whether a word names the backend. Different spellings of an IPv6 address
// are equal.
func (b *backend) called(word string) bool {
	if isNumber(word) {
		return strconv.Itoa(b.ID) == word
	}
	names := []string{b.IP, "[" + b.IP + "]"}
	if b.Port != nil {
		names = append(names, net.JoinHostPort(b.IP, strconv.Itoa(*b.Port)))
	}
	if b.Alias != nil {
		names = append(names, *b.Alias)
	}
	same := func(name string) bool { return strings.EqualFold(spelled(name), spelled(word)) }
	return slices.ContainsFunc(names, same)
}

// spelled returns the canonical spelling of an address with optional port, and any other
// text unchanged.
func spelled(text string) string {
	if host, port, err := net.SplitHostPort(text); err == nil {
		return net.JoinHostPort(spelled(host), port)
	}
	if ip := net.ParseIP(strings.Trim(text, "[]")); ip != nil {
		return ip.String()
	}
	return text
}
