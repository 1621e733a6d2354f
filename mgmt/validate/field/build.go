package field

import (
	"net/netip"
	"slices"
)

// Without returns the fields except the named one.
func Without[T any](fields []Field[T], name string) []Field[T] {
	return slices.DeleteFunc(slices.Clone(fields), func(f Field[T]) bool { return f.Name == name })
}

// UnsetAsNull makes responses show unset fields as null.
func UnsetAsNull[T any](fields ...Field[T]) []Field[T] {
	for i := range fields {
		fields[i].IfUnset = ShowNull
	}
	return fields
}

// AddrValue returns an address as a text, blank if it is unset.
func AddrValue(a netip.Addr) Value {
	if !a.IsValid() {
		return TextValue("")
	}
	return TextValue(a.String())
}

// Require makes a field required.
func Require[T any](f Field[T]) Field[T] { f.Required = true; return f }

// Named renames a field.
func Named[T any](f Field[T], name string) Field[T] { f.Name = name; return f }

// Texts converts words of an enumeration.
func Texts[W ~string](words []W) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = string(w)
	}
	return out
}

// OrZero returns v, or the zero value if v is the default.
func OrZero[T comparable](v, unset T) T {
	if v == unset {
		var zero T
		return zero
	}
	return v
}
