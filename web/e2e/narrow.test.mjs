// Every page on a telephone. It has the colours of a wide one: the dark theme is there
// for who wants its pictures.
import { everyPage } from './everypage.mjs';

everyPage(390, process.env.GUI_SHOTS ? ['light', 'dark'] : ['light']);
