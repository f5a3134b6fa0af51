/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether a text is well-formed XML, as far as the pictures of the command go: tags that match,
 * attributes in quotes, the five entities, characters that XML allows. */
#ifndef TESTS_TOOLS_XML_H
#define TESTS_TOOLS_XML_H

/* NULL, or what is wrong. */
const char *xml_wrong(const char *text);
/* How many elements have that name. */
unsigned xml_count(const char *text, const char *name);

#endif
