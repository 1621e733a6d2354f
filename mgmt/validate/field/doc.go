// Package field is the language in which the fields of objects are declared: rules, values,
// conditions and tables. It knows no object.
//
// A [Table] lists the fields of one kind of body, each with its [Rule]. The API decodes bodies
// with it ([Table.Decode], [Values.Apply]), and help, responses and JSON Schemas are made from
// it. A value is a text, a number, a boolean or a list of texts. A [Condition] names
// the other fields that a field needs, and the outcome of a value without them.
package field
