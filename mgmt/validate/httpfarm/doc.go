// Package httpfarm has the fields and rules of http farms, their services and backends. It is
// not named http because most of its users import net/http, too.
package httpfarm
