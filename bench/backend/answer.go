package backend

import (
	"bytes"
	"fmt"
)

// answer is a complete response, ready to send, for kept and for closing connections.
type answer struct{ keep, last []byte }

// Body sizes in bytes by the name in the path.
const (
	Small  = 128
	Medium = 10 << 10
	Large  = 1 << 20
)

func newAnswer(status string, size int) answer {
	body := bytes.Repeat([]byte("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-\n"), size/64+1)[:size]
	build := func(extra string) []byte {
		head := fmt.Sprintf("HTTP/1.1 %s\r\nServer: bench\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n%s\r\n", status, size, extra)
		return append([]byte(head), body...)
	}
	return answer{keep: build(""), last: build("Connection: close\r\n")}
}

func (a answer) bytes(last bool) []byte {
	if last {
		return a.last
	}
	return a.keep
}

type answers struct{ small, medium, large, missing, refused answer }

func newAnswers() answers {
	return answers{
		small:   newAnswer("200 OK", Small),
		medium:  newAnswer("200 OK", Medium),
		large:   newAnswer("200 OK", Large),
		missing: newAnswer("404 Not Found", 64),
		refused: newAnswer("501 Not Implemented", 64),
	}
}

// pick returns the response for the last segment of the path.
func (a *answers) pick(path []byte) answer {
	switch string(path[bytes.LastIndexByte(path, '/')+1:]) {
	case "128":
		return a.small
	case "10k":
		return a.medium
	case "1m":
		return a.large
	}
	return a.missing
}
