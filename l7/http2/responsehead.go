package http2

// response checks the decoded response (RFC 9113 section 8.3.2) and writes it as an HTTP/1.1
// head. bodyless means that the request was HEAD.
func (m *message) response(end, bodyless bool) (status int, head []byte, why *Error) {
	if m.bad != nil {
		return 0, nil, m.bad
	}
	digits := m.value(kindStatus)
	switch {
	case m.have&haveStatus == 0:
		return 0, nil, ErrPseudoMissing
	case m.have != haveStatus:
		return 0, nil, ErrPseudo
	case len(digits) != 3:
		return 0, nil, ErrStatus
	}
	for _, c := range digits {
		if c -= '0'; c > 9 {
			return 0, nil, ErrStatus
		}
		status = status*10 + int(c)
	}
	if status < 100 || status == 101 { // readers of the head decide about statuses above 599
		return 0, nil, ErrStatus
	}
	m.head = append(append(append(m.head, "HTTP/1.1 "...), digits...), ' ')
	m.head = append(append(m.head, reasons[status]...), "\r\n"...)
	m.head = append(m.head, m.fields...)
	if why := m.responseFraming(status, end, bodyless); why != nil {
		return 0, nil, why
	}
	m.head = append(m.head, "\r\n"...)
	return status, m.head, nil
}

// responseFraming appends the field that frames the body.
func (m *message) responseFraming(status int, end, bodyless bool) *Error {
	switch {
	case status < 200 && end:
		return ErrStatus // another head must follow
	case status < 200 || status == 204: // Content-Length has no meaning here (RFC 9113, section 8.1.1)
	case m.length >= 0:
		m.appendLength(m.length)
	case bodyless || status == 304:
	case end:
		m.appendLength(0)
	default:
		m.head = append(m.head, "transfer-encoding: chunked\r\n"...)
	}
	return nil
}

// reasons holds the reason phrases of common statuses (RFC 9110 section 15) for HTTP/1
// clients.
var reasons = map[int]string{
	100: "Continue",
	103: "Early Hints",
	200: "OK",
	201: "Created",
	202: "Accepted",
	204: "No Content",
	206: "Partial Content",
	301: "Moved Permanently",
	302: "Found",
	303: "See Other",
	304: "Not Modified",
	307: "Temporary Redirect",
	308: "Permanent Redirect",
	400: "Bad Request",
	401: "Unauthorized",
	403: "Forbidden",
	404: "Not Found",
	405: "Method Not Allowed",
	409: "Conflict",
	410: "Gone",
	412: "Precondition Failed",
	413: "Content Too Large",
	415: "Unsupported Media Type",
	416: "Range Not Satisfiable",
	422: "Unprocessable Content",
	429: "Too Many Requests",
	500: "Internal Server Error",
	501: "Not Implemented",
	502: "Bad Gateway",
	503: "Service Unavailable",
	504: "Gateway Timeout",
}
